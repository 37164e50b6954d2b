import type { Entry } from '#lib/draw/entry.ts';
import { openThread } from '#platform/threads/worker-thread.ts';
import { type Evaluation, type EvaluationRequest, evaluateRound } from './evaluate.ts';
import type { RoundEvaluator } from './evaluator.ts';

/**
 * Maximum entries of a round that is evaluated without a worker thread. Starting a worker thread takes longer than evaluating this number of entries.
 */
const MAX_INLINE = 2_000;

/**
 * Evaluates a round. A round with many entries is evaluated in a worker thread, so that this process can do other work meanwhile.
 * @param expected approximate number of entries
 * @param chunks all entries of the round in chunks, ordered by index
 */
export async function evaluateInThread(expected: number, request: EvaluationRequest, chunks: AsyncIterable<Entry[]>): Promise<Evaluation> {
  if (expected <= MAX_INLINE) return evaluateRound(request, (await Array.fromAsync(chunks)).flat());
  const { remote, close } = openThread<RoundEvaluator>(new URL('./thread.ts', import.meta.url));
  try {
    let added: Promise<unknown> = Promise.resolve();
    for await (const chunk of chunks) {
      await added;
      added = remote.add(request.parameters.round, chunk);
      // An error of this call is thrown by the next `await added`. Until then, this empty handler prevents an unhandled rejection.
      added.catch(() => undefined);
    }
    await added;
    return await remote.evaluate(request);
  } finally {
    await close();
  }
}
