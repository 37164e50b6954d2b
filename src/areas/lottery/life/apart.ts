import { Worker } from 'node:worker_threads';
import { type Case, type Judgement, judge } from './judge.ts';

/** Entries that are judged before a thread would have started. */
const MOST_HERE = 2_000;

/** Judges a round, where it has many entries in a thread of its own: whatever else this process does goes on meanwhile. */
export async function judgeApart(given: Case): Promise<Judgement> {
  if (given.entries.length <= MOST_HERE) return judge(given);
  const worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData: given });
  const { promise, resolve, reject } = Promise.withResolvers<Judgement>();
  worker.once('message', (judgement: Judgement) => resolve(judgement));
  worker.once('error', (cause) => reject(new Error('the thread that judges a round failed', { cause })));
  worker.once('exit', () => reject(new Error('the thread that judges a round has ended')));
  return await promise.finally(() => worker.terminate());
}
