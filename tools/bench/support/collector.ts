import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { collectedFile } from './collected-file.ts';

/**
 * This module is loaded into a measured process before the other modules of this process. On SIGUSR2 it collects garbage three times, because objects
 * with finalizers release memory only in later collections, and then writes a file.
 */
process.on('SIGUSR2', async () => {
  const session = new Session();
  session.connect();
  for (let i = 0; i < 3; i++) {
    await session.post('HeapProfiler.collectGarbage');
    await sleep(300);
  }
  session.disconnect();
  writeFileSync(collectedFile(process.pid), '');
});
