import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const src = (file: string): string => fileURLToPath(new URL(`./src/${file}`, import.meta.url));

export default defineConfig({
  resolve: {
    // Tests name the package the way users do; the sources stand in for the build.
    alias: [
      { find: /^lanekeeper$/, replacement: src("index.ts") },
      { find: /^lanekeeper\/lanes$/, replacement: src("lanes.ts") },
      { find: /^lanekeeper\/testing$/, replacement: src("testing.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    typecheck: { enabled: true, include: ["test/types/**/*.test-d.ts"], tsconfig: "./tsconfig.check.json" },
    pool: "forks",
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
