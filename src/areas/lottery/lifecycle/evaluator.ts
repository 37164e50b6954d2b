import { type Entry, entryLeaves } from '#lib/draw/entry.ts';
import { type Evaluation, type EvaluationRequest, evaluateRound } from './evaluate.ts';

/** Evaluates one round whose entries arrive in chunks. Each chunk is hashed on arrival, while the caller reads the next chunk. */
export class RoundEvaluator {
  readonly #entries: Entry[][] = [];
  readonly #leaves: Uint8Array[] = [];

  /** Adds the next entries of the round, ordered by index. */
  add(round: string, chunk: Entry[]): void {
    this.#entries.push(chunk);
    this.#leaves.push(entryLeaves(round, chunk));
  }

  /** Evaluates the round with all added entries. */
  evaluate(request: EvaluationRequest): Evaluation {
    return evaluateRound(request, this.#entries.flat(), Buffer.concat(this.#leaves));
  }
}
