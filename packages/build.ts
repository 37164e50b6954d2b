import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Builds a package: compiles its `src/` to `dist/` (JavaScript, source maps and type declarations), and copies the license of the repository. The
 * compiler has no types of Node, so the build fails when a file uses a part of Node.
 * @param folder the folder of the package
 */
export function buildPackage(folder: string): void {
  const root = join(import.meta.dirname, '..');
  const compiler = join(root, 'node_modules/.bin/tsc');
  if (!existsSync(compiler)) throw new Error('the compiler is missing: run "npm ci" in the root of the repository first');
  const dist = join(folder, 'dist');
  rmSync(dist, { recursive: true, force: true });
  const { status } = spawnSync(compiler, ['-p', folder], { stdio: 'inherit' });
  if (status !== 0) throw new Error(`the compiler ended with status ${status}`);
  // The compiler changes `.ts` to `.js` in the imports of JavaScript files, but not in the imports of declaration files.
  for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.d.ts'))) {
    const file = join(dist, name);
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/((?:from |import\()['"]\.[\w./-]+)\.ts(['"])/g, '$1.js$2'));
  }
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
}
