import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Builds `dist/`, the content of the package: JavaScript and type declarations of `src/` and of the parts of the service's `src/lib` that it imports.
 * `npm pack` runs this script. The compiler has no types of Node, so the build fails when a file uses a part of Node.
 */
const dist = join(import.meta.dirname, 'dist');
rmSync(dist, { recursive: true, force: true });
const { status } = spawnSync(join(import.meta.dirname, '../../node_modules/.bin/tsc'), ['-p', import.meta.dirname], { stdio: 'inherit' });
if (status !== 0) process.exit(1);
// The compiler changes `.ts` to `.js` in the imports of JavaScript files, but not in the imports of declaration files.
for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.d.ts'))) {
  const file = join(dist, name);
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/((?:from |import\()['"]\.[\w./-]+)\.ts(['"])/g, '$1.js$2'));
}
