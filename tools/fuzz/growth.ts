import { setTimeout as sleep } from 'node:timers/promises';
import { aftermath } from './aftermath.ts';
import { fuzz, type Report, type RunOptions } from './run.ts';
import type { OwnTarget } from './target.ts';

const MB = 1024 * 1024;
/** What either process may hold more than after the first quarter of the requests, bytes; by then what is kept is there. */
const MAY_HOLD = 50 * MB;
/** The API process as the system sees it. */
const MAY_OCCUPY = 400 * MB;
/** Connections to PostgreSQL and Redis that are opened as they are needed. */
const MAY_OPEN = 50;
/** How long the last connections take to be closed, ms. */
const CLOSED_WITHIN = 10_000;

/** What the processes hold, bytes: both without garbage, and the API as the system sees it. */
interface Holding {
  readonly api: number;
  readonly worker: number;
  readonly occupied: number;
}

async function holdingOf(target: OwnTarget): Promise<Holding> {
  return { api: await target.inUse(target.api), worker: await target.inUse(target.worker), occupied: target.memory() };
}

/**
 * Fuzzes a system of our own, and looks at what that left behind.
 * @param onHolding is told a tenth of the requests at a time what the processes hold; without it that is not looked at, since it costs
 */
export async function fuzzOwn(
  target: OwnTarget,
  options: RunOptions,
  onHolding?: (answered: number, told: string) => void,
): Promise<{ report: Report; after: readonly string[] }> {
  const opened = target.descriptors();
  const tenth = Math.ceil(options.requests / 10);
  const quarter = Math.ceil(options.requests / 4);
  let answered = 0;
  let atQuarter: Promise<Holding | null> = Promise.resolve(null);
  const report = await fuzz(target, {
    ...options,
    computed: target.computed,
    onAnswer(draft, outcome) {
      options.onAnswer?.(draft, outcome);
      const at = ++answered;
      if (at !== quarter && (at % tenth !== 0 || !onHolding)) return;
      // A process that is gone is told of below.
      const look = holdingOf(target).catch(() => null);
      if (at === quarter) atQuarter = look;
      void look.then((holding) => holding && onHolding?.(at, told(holding)));
    },
  });
  const after = await aftermath(target, report.world);
  if (!target.api.isRunning || !target.worker.isRunning) return { report, after };
  const [before, now] = [await atQuarter, await holdingOf(target)];
  onHolding?.(answered, `${told(now)} in the end`);
  if (before) {
    after.push(...grown('the API holds', now.api - before.api, MAY_HOLD));
    after.push(...grown('the worker holds', now.worker - before.worker, MAY_HOLD));
    after.push(...grown('the API process occupies', now.occupied - before.occupied, MAY_OCCUPY));
  }
  for (const until = Date.now() + CLOSED_WITHIN; target.descriptors() > opened + MAY_OPEN && Date.now() < until; ) await sleep(100);
  if (target.descriptors() > opened + MAY_OPEN) after.push(`the API has ${target.descriptors()} files and connections open, before ${opened}`);
  return { report, after };
}

const inMB = (bytes: number) => `${(bytes / MB).toFixed(1)} MB`;
const told = ({ api, worker, occupied }: Holding) => `the API holds ${inMB(api)} and occupies ${inMB(occupied)}, the worker holds ${inMB(worker)}`;
const grown = (who: string, by: number, most: number) => (by > most ? [`${who} ${inMB(by)} more than after a quarter of the requests`] : []);
