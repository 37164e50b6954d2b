import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { output, searchPath } from './binaries.ts';

const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** The programs of the applications of macOS. */
const APPLICATIONS = ['Chromium', 'Google Chrome'].map((name) => `/Applications/${name}.app/Contents/MacOS/${name}`);
const INSTALL = 'apt-get install -y --no-install-recommends chromium';

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
  const isInstallable = process.getuid?.() === 0 && searchPath().some((directory) => existsSync(join(directory, 'apt-get')));
  if (!isInstallable) throw new Error(`Chromium is not installed; run: sudo ${INSTALL}`);
  const [command = '', ...args] = INSTALL.split(' ');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  output(command, ['update', '-qq'], { env });
  output(command, args, { env });
  const installed = findChromium();
  if (installed === undefined) throw new Error(`${INSTALL} ended without an error, but there is no Chromium`);
  return installed;
}
