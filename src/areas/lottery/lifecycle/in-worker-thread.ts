import { Worker } from 'node:worker_threads';
import type { Entry } from '#lib/draw/entry.ts';
import { type Judgement, judge, type Question } from './evaluate.ts';

/** Entries that are judged before a thread would have started. */
const MOST_HERE = 2_000;

/**
 * Judges a round, where it has many entries in a thread of its own: whatever else this process does goes on meanwhile, and what is read is
 * hashed while the rest is read.
 * @param about about how many entries there are
 * @param chunks the entries, by index
 */
export async function judgeApart(about: number, question: Question, chunks: AsyncIterable<Entry[]>): Promise<Judgement> {
  if (about <= MOST_HERE) return judge({ ...question, entries: (await Array.fromAsync(chunks)).flat() });
  const worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData: question });
  const { promise, resolve, reject } = Promise.withResolvers<Judgement>();
  promise.catch(() => undefined);
  worker.once('message', (judgement: Judgement) => resolve(judgement));
  worker.once('error', (cause) => reject(new Error('the thread that judges a round failed', { cause })));
  worker.once('exit', () => reject(new Error('the thread that judges a round has ended')));
  try {
    for await (const chunk of chunks) worker.postMessage(chunk);
    worker.postMessage(null);
    return await promise;
  } finally {
    await worker.terminate();
  }
}
