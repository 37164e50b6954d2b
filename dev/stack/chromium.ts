import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { searchPath } from './binaries.ts';
import { installPackages } from './debian/packages.ts';

const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** The programs of the applications of macOS. */
const APPLICATIONS = ['Chromium', 'Google Chrome'].map((name) => `/Applications/${name}.app/Contents/MacOS/${name}`);

/** Returns the path of an installed Chromium or Google Chrome; undefined if there is none. */
export function findChromium(directories: readonly string[] = searchPath()): string | undefined {
  const programs = directories.flatMap((directory) => PROGRAMS.map((name) => join(directory, name)));
  return [...programs, ...APPLICATIONS].find((program) => existsSync(program));
}

/**
 * Returns the path of Chromium. Installs the Debian package if there is no Chromium and this process may install packages. Only the tests of the browser
 * and one benchmark need Chromium, so bin/setup does not install it.
 * @throws if Chromium is not installed and cannot be installed
 */
export function installedChromium(): string {
  const found = findChromium();
  if (found !== undefined) return found;
  installPackages(['chromium']);
  const installed = findChromium();
  if (installed === undefined) throw new Error('apt-get installed the package chromium without an error, but there is no Chromium');
  return installed;
}
