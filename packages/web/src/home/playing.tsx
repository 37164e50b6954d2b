import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type Api, client, ok } from '../client.ts';
import { gameName, useGames } from '../games.ts';
import { useLoaded } from '../live/load.ts';
import { on } from '../live/stream.ts';
import { amountText, numberText } from '../ui/amount.ts';
import { Panel } from '../ui/panel.tsx';
import { ProblemNote } from '../ui/problem-note.tsx';
import { Ago } from '../ui/time.tsx';
import { WalletName } from '../ui/wallet.tsx';

const LINES = 8;
/** Number of games whose board of today is read for the first lines. */
const GAMES = 12;
/** Minimum time between two changes of the list, ms, so that it can be read while many play. */
const STEP_MS = 500;

/** Something that a wallet did. */
interface Deed {
  readonly key: string;
  readonly wallet: string;
  readonly name: string | null;
  readonly at: string;
  readonly text: string;
}

const scoreText = (score: number, gameId: string): string => `${numberText(score)} in ${gameName(gameId)}`;

/** Returns the best scores of today, as deeds. */
async function readToday(games: readonly Api.GameSummary[]): Promise<readonly Deed[]> {
  const deeds: Deed[] = [];
  // One after the other, so that the boards and the round, which are higher on the page, need not wait.
  for (const { id } of games.slice(0, GAMES)) {
    const { body } = await ok(client.get('/game/{id}/leaderboard', { params: { id }, query: { period: 'day', limit: LINES } }));
    for (const { wallet, name, score, at } of body)
      if (at !== null) deeds.push({ key: `${wallet} ${id}`, wallet, name, at, text: scoreText(score, id) });
  }
  return deeds;
}

const newestFirst = (deeds: readonly Deed[]): readonly Deed[] => {
  const byKey = new Map(deeds.toSorted((a, b) => a.at.localeCompare(b.at)).map((deed) => [deed.key, deed]));
  return [...byKey.values()].toSorted((a, b) => b.at.localeCompare(a.at)).slice(0, LINES);
};

/** The wallets that play now: their newest scores, entries and prizes. */
export function PlayingPanel() {
  const games = useGames();
  const today = useLoaded(() => readToday(games), [games]);
  const live = useSignal<readonly Deed[]>([]);
  useEffect(
    () =>
      collect((deeds) => {
        live.value = newestFirst([...live.value, ...deeds]);
      }),
    [live],
  );
  const deeds = newestFirst([...(today.value.value ?? []), ...live.value]);
  return (
    <Panel title="Playing now">
      <ProblemNote problem={today.problem.value} retry={today.reload} />
      {deeds.length === 0 && <p class="empty">Nobody has played today. Be the first.</p>}
      <ul class="lines">
        {deeds.map(({ key, wallet, name, text, at }) => (
          <li key={key}>
            <span>
              <WalletName wallet={wallet} name={name} />: {text}
            </span>
            <Ago at={at} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Collects deeds from events and hands them on at most twice a second. @returns a function that ends this */
function collect(take: (deeds: readonly Deed[]) => void): () => void {
  let waiting: Deed[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const add = (deed: Deed) => {
    waiting = [...waiting.slice(-2 * LINES), deed];
    timer ??= setTimeout(() => {
      timer = undefined;
      take(waiting);
      waiting = [];
    }, STEP_MS);
  };
  const stops = [
    on('score_update', ({ updates, at }) => {
      for (const { wallet, gameId, score } of updates.slice(-LINES)) {
        if (score !== null) add({ key: `${wallet} ${gameId}`, wallet, name: null, at, text: scoreText(score, gameId) });
      }
    }),
    on('new_entry', ({ wallet, entryId, at, numbers }) =>
      add({ key: entryId, wallet, name: null, at, text: numbers.length > 0 ? `entered the round with ${numbers.join(', ')}` : 'bought a ticket' }),
    ),
    on('winner_announced', ({ roundId, place, wallet, prize, at }) =>
      add({ key: `${roundId} ${place}`, wallet, name: null, at, text: `won ${amountText(prize.amount, prize.mint)}` }),
    ),
  ];
  return () => {
    clearTimeout(timer);
    for (const stop of stops) stop();
  };
}
