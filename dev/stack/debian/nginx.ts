import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { output, searchPath } from '../binaries.ts';

/** The Debian packages that contain the program, in the releases of Debian and Ubuntu. */
const PACKAGES = ['nginx', 'nginx-light', 'nginx-core'];
/** Folder of an unpacked package. */
const UNPACKED = join(import.meta.dirname, '../../../node_modules/.cache/nginx');

/** Returns the path of nginx; undefined if it is neither installed nor unpacked. */
export const findNginx = (): string | undefined =>
  [...searchPath(), join(UNPACKED, 'usr/sbin')].map((folder) => join(folder, 'nginx')).find(existsSync);

/**
 * Returns the path of nginx. Without an installed nginx, downloads the Debian package and unpacks it into a folder of the checkout. Does not install the
 * package, because its installation would start a web server on port 80. Only the tests of ops/proxy/nginx.conf need nginx.
 * @throws if there is no nginx and no package
 */
export function unpackedNginx(): string {
  const found = findNginx();
  if (found !== undefined) return found;
  mkdirSync(UNPACKED, { recursive: true });
  if (process.getuid?.() === 0) output('apt-get', ['update', '-qq']);
  for (const name of PACKAGES) {
    output('apt-get', ['download', '-qq', name], { cwd: UNPACKED });
    const file = readdirSync(UNPACKED).find((entry) => entry.startsWith(`${name}_`) && entry.endsWith('.deb'));
    if (file !== undefined) output('dpkg-deb', ['-x', join(UNPACKED, file), UNPACKED]);
    const unpacked = findNginx();
    if (unpacked !== undefined) return unpacked;
  }
  throw new Error(`nginx is not installed, and no package contains it; run: sudo apt-get install ${PACKAGES[0]}`);
}
