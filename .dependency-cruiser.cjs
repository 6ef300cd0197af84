// Imports go down a floor, never up, and never sideways into another room of the same floor.
const floors = [["base"], ["protocol"], ["lanes", "tools", "journal"], ["batch", "cassette"], ["runner", "watch"], ["testing"]];
const forbidden = [];
floors.forEach((rooms, floor) => {
  for (const room of rooms) {
    const others = floors.slice(floor).flat().filter((other) => other !== room);
    if (others.length > 0) {
      forbidden.push({
        name: `${room}-imports-down-only`,
        severity: "error",
        from: { path: `^src/${room}/` },
        to: { path: `^src/(${others.join("|")})/` },
      });
    }
  }
});
forbidden.push(
  { name: "no-cycles", severity: "error", from: {}, to: { circular: true, dependencyTypesNot: ["type-only"] } },
  { name: "doors-are-for-outsiders", severity: "error", from: { path: "^src/[^/]+/" }, to: { path: "^src/[^/]+\\.ts$" } },
);
module.exports = { forbidden, options: { tsPreCompilationDeps: true, tsConfig: { fileName: "tsconfig.json" }, doNotFollow: { path: "node_modules" } } };
