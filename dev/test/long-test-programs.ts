import { installedChromium } from '#dev/stack/chromium.ts';
import { unpackedNginx } from '#dev/stack/debian/nginx.ts';
import { installedPatroni } from '#dev/stack/patroni/cluster.ts';

/**
 * Installs the programs that only long tests need. The tests run in several processes at the same time, and apt-get refuses to run twice at the same time, so
 * the programs are installed before the tests start. If a program cannot be installed, its tests fail with the reason.
 */
export function installLongTestPrograms(print: (line: string) => void): void {
  for (const install of [installedChromium, installedPatroni, unpackedNginx]) {
    try {
      install();
    } catch (error) {
      print(Error.isError(error) ? error.message : String(error));
    }
  }
}
