import { unavailable } from './errors.ts';

/**
 * Answers many askers of one key with one run at a time. Whoever asks while a run is under way shares the next one,
 * so an answer is never older than its question, and load never makes more than one run per key.
 * @param run what answers; gets all asks of its turn
 * @param most how many asks one turn takes; more are refused with 503
 */
export function coalesce<Ask, Answer>(
  run: (asks: readonly [Ask, ...Ask[]]) => Promise<Answer>,
  most = Number.POSITIVE_INFINITY,
): (key: string, ask: Ask) => Promise<Answer> {
  const waiting = new Map<string, { asks: [Ask, ...Ask[]]; answer: Promise<Answer> }>();
  const running = new Map<string, Promise<unknown>>();

  const begin = (key: string, asks: readonly [Ask, ...Ask[]]): Promise<Answer> => {
    waiting.delete(key);
    const answer = run(asks);
    const ended = answer.then(
      () => undefined,
      () => undefined,
    );
    running.set(key, ended);
    void ended.then(() => {
      if (running.get(key) === ended) running.delete(key);
    });
    return answer;
  };

  return (key, ask) => {
    const turn = waiting.get(key);
    if (turn) {
      if (turn.asks.length >= most) throw unavailable('too many are asking for this at once');
      turn.asks.push(ask);
      return turn.answer;
    }
    const asks: [Ask, ...Ask[]] = [ask];
    // With nothing under way, the turn still waits for the other requests that have arrived by now.
    const before = running.get(key) ?? new Promise((resolve) => setImmediate(resolve));
    const answer = before.then(() => begin(key, asks));
    waiting.set(key, { asks, answer });
    return answer;
  };
}
