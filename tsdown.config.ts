import { defineConfig } from "tsdown";

export default defineConfig({
  entry: { index: "src/index.ts", lanes: "src/lanes.ts", testing: "src/testing.ts" },
  format: "esm",
  platform: "node",
  target: "node20",
  dts: true,
  clean: true,
  outExtensions: () => ({ js: ".js", dts: ".d.ts" }),
});
