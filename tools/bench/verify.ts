import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startSystem } from '#dev/stack/system.ts';
import { openBrowser } from '#test/support/verify/browser.ts';
import { createRecentWorld, pinsOf, serveWorld } from '#test/support/verify/served-world.ts';
import { anyWallets, computeDay, EPOCH_QUEUES, seedDay, urlOf } from './support/days.ts';
import { report } from './support/report.ts';

/**
 * This benchmark measures the verifiers: `bin/verify-round` with a large round, a page in Chromium with a small round, and `bin/verify-epoch` with an
 * epoch of a million wallets that the service computed. The durations of the commands include the start of Node and all downloads.
 */

const ROUND = { entries: Number(process.env.BENCH_ENTRIES ?? 100_000), wallets: 5_000, seconds: 10 };
const PAGE = { entries: 1_000, wallets: 200, seconds: 2, times: 5 };
const EPOCH = { wallets: Number(process.env.BENCH_WALLETS ?? 1_000_000), day: 20_000, seconds: 60 };

await page();
await round();
await epoch();

/** Runs a command, and returns its duration, s. @throws when the exit code of the command is not 0 */
async function timed(command: string, args: readonly string[]): Promise<number> {
  const begin = performance.now();
  await promisify(execFile)(join(import.meta.dirname, '../../bin', command), args);
  return (performance.now() - begin) / 1_000;
}

async function page(): Promise<void> {
  const world = createRecentWorld(PAGE.entries, PAGE.wallets);
  const { house, rpc, beacon: beaconUrl, close } = await serveWorld(world);
  const browser = await openBrowser();
  try {
    const query = { round: world.facts.parameters.round, house, rpc, beaconUrl, ...pinsOf(world) };
    for (let i = 0; i < PAGE.times; i++) {
      const { verdict, steps, ms } = await browser.verify(query);
      if (verdict !== 'true') throw new Error(`the page shows ${verdict}: ${steps.join('\n')}`);
      report(`round of ${PAGE.entries} entries in Chromium, page ${i + 1}`, ms / 1_000, 's', { atMost: PAGE.seconds });
    }
  } finally {
    await browser.close();
    close();
  }
}

async function round(): Promise<void> {
  const world = createRecentWorld(ROUND.entries, ROUND.wallets);
  const { house, rpc, beacon, close } = await serveWorld(world);
  const { genesisHash: genesis, ...pins } = pinsOf(world);
  const options = Object.entries({ ...pins, genesis, rpc, 'beacon-url': beacon }).flatMap(([name, value]) => [`--${name}`, value]);
  try {
    const seconds = await timed('verify-round', [house, world.facts.parameters.round, ...options]);
    report(`bin/verify-round, ${ROUND.entries} entries`, seconds, 's', { atMost: ROUND.seconds });
  } finally {
    close();
  }
}

async function epoch(): Promise<void> {
  const system = await startSystem({ env: EPOCH_QUEUES });
  try {
    await seedDay(system, EPOCH.day, anyWallets(EPOCH.wallets));
    await computeDay(system, EPOCH.day);
    const seconds = await timed('verify-epoch', [urlOf(system), String(EPOCH.day)]);
    report(`bin/verify-epoch, ${EPOCH.wallets} wallets`, seconds, 's', { atMost: EPOCH.seconds });
  } finally {
    await system.stop();
  }
}
