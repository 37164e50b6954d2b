import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { output, searchPath } from '../binaries.ts';

const INSTALL = ['install', '-y', '--no-install-recommends'];

/**
 * Installs Debian packages that only some tests need, so bin/setup does not install them. Servers of the packages do not start.
 * @param services the systemd units of the packages that would start at the next boot
 * @throws if this process may not install packages
 */
export function installPackages(packages: readonly string[], services: readonly string[] = []): void {
  const isInstallable = process.getuid?.() === 0 && searchPath().some((directory) => existsSync(join(directory, 'apt-get')));
  if (!isInstallable) throw new Error(`${packages.join(' and ')} must be installed; run: sudo apt-get ${[...INSTALL, ...packages].join(' ')}`);
  // RUNLEVEL=1 is single-user mode, in which the scripts of the packages start no servers.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  output('apt-get', ['update', '-qq'], { env });
  output('apt-get', [...INSTALL, ...packages], { env });
  if (services.length > 0 && existsSync('/run/systemd/system')) output('systemctl', ['disable', '--now', '--quiet', ...services]);
}

/** Returns the path of a program on the PATH or in the usual system directories; undefined if it is not installed. */
export const findProgram = (name: string): string | undefined =>
  searchPath()
    .map((directory) => join(directory, name))
    .find((path) => existsSync(path));
