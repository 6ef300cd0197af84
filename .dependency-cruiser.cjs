// Imports go down a floor, never up, and never sideways into another room of the same floor.
const floors = [
  ["base"],
  ["protocol"],
  ["lanes", "tools", "journal"],
  ["batch", "cassette"],
  ["runner", "watch"],
  ["testing"],
];
const forbidden = [];
floors.forEach((rooms, floor) => {
  for (const room of rooms) {
    const others = floors
      .slice(floor)
      .flat()
      .filter((other) => other !== room);
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
  {
    name: "no-cycles",
    comment: "A cycle with a type-only import anywhere in it is none when the code runs.",
    severity: "error",
    from: {},
    to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
  },
  {
    name: "doors-are-for-outsiders",
    severity: "error",
    from: { path: "^src/[^/]+/" },
    to: { path: "^src/[^/]+\\.ts$" },
  },
  {
    name: "every-room-has-a-floor",
    severity: "error",
    from: {},
    to: { path: "^src/[^/]+/", pathNot: `^src/(${floors.flat().join("|")})/` },
  },
  {
    name: "sources-import-only-what-is-shipped",
    severity: "error",
    from: { path: "^src/" },
    to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown", "npm-optional"] },
  },
  {
    name: "lanes-run-wherever-async-hooks-does",
    comment: "Bun, Deno and workers have node:async_hooks; nothing else of Node may be needed there.",
    severity: "error",
    from: { path: "^src/(base|protocol|lanes)/" },
    to: { dependencyTypes: ["core"], pathNot: "^(node:)?async_hooks$" },
  },
  {
    name: "examples-use-the-package-by-name",
    severity: "error",
    from: { path: "^examples/" },
    to: { path: "^(src|test|scripts|bench)/" },
  },
);
module.exports = {
  forbidden,
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
  },
};
