import { type Api, client, ok } from '../client.ts';
import { learnTime } from '../live/clock.ts';
import { useLoaded } from '../live/load.ts';
import { useEvents } from '../live/use-events.ts';
import { amountText, numberText } from '../ui/amount.ts';
import { Panel } from '../ui/panel.tsx';
import { ProblemNote } from '../ui/problem-note.tsx';
import { Countdown } from '../ui/time.tsx';
import { RoundEntry } from './round-entry.tsx';

interface Rounds {
  /** The round that is open or being drawn, with the time of its draw. */
  readonly current: { readonly round: Api.ChatRound; readonly drawDueAt: string | null } | null;
  /** The round that was drawn last. */
  readonly last: Api.FinalizedRound | null;
}

async function readRounds(): Promise<Rounds> {
  const [status, drawn] = await Promise.all([
    ok(client.get('/chat/status')),
    ok(client.get('/chat/round/recent-finalized', { query: { limit: 1 } })),
  ]);
  learnTime(status.headers);
  const { currentRound } = status.body;
  const round = currentRound && (await ok(client.get('/chat/round/{id}', { params: { id: currentRound.id } }))).body;
  return { current: round && { round, drawDueAt: currentRound.drawDueAt }, last: drawn.body[0] ?? null };
}

/** The lottery round: its state with a countdown, the entry, and the last draw. */
export function RoundPanel() {
  const rounds = useLoaded(readRounds, []);
  useEvents(['round_started', 'round_closed', 'round_committed', 'round_finalized', 'round_void'], rounds.reload, [rounds]);
  useEvents(
    ['new_entry'],
    ({ roundId, index }) => {
      const value = rounds.value.value;
      if (value?.current?.round.id !== roundId) return;
      const round = { ...value.current.round, entries: Math.max(value.current.round.entries, index + 1) };
      rounds.value.value = { ...value, current: { ...value.current, round } };
    },
    [rounds],
  );
  const value = rounds.value.value;
  return (
    <Panel title="The round">
      <ProblemNote problem={rounds.problem.value} retry={rounds.reload} />
      {value === undefined && rounds.problem.value === null && <p class="quiet">Loading the round…</p>}
      {value?.current && <Current {...value.current} />}
      {value && !value.current && <p class="empty">No round is open. The next one appears here when it starts.</p>}
      {value?.last && <LastDraw round={value.last} />}
    </Panel>
  );
}

function Current({ round, drawDueAt }: { round: Api.ChatRound; drawDueAt: string | null }) {
  return (
    <>
      <h3>{round.title}</h3>
      <p>
        Guess {round.picks} of the numbers 1 to {round.range}. Prizes: {round.prizes.map(({ amount, mint }) => amountText(amount, mint)).join(', ')}.{' '}
        {round.entries === 1 ? '1 entry' : `${numberText(round.entries)} entries`} so far.
      </p>
      {round.status === 'active' && round.closesAt && (
        <>
          <p class="row">
            <Countdown until={round.closesAt} /> <span>until the entries close</span>
          </p>
          <RoundEntry round={round} />
        </>
      )}
      {round.status === 'closing' && (
        <p class="note">
          The entries are closed. Their fingerprint goes on the chain before the random number exists, so nobody can choose the result.
        </p>
      )}
      {round.status === 'committed' && (
        <>
          <p class="row">
            {drawDueAt && <Countdown until={drawDueAt} />} <span>until the draw</span>
          </p>
          <p class="note">The fingerprint of the entries is on the chain. A public random number that nobody knows yet decides the draw.</p>
        </>
      )}
    </>
  );
}

function LastDraw({ round }: { round: Api.FinalizedRound }) {
  return (
    <div class="draw">
      <h3>Last draw: {round.title}</h3>
      <ul class="balls" aria-label="The numbers that were drawn">
        {round.numbers.map((number) => (
          <li key={number} class="ball">
            {number}
          </li>
        ))}
      </ul>
      <p>
        {round.winners === 0 ? 'No wallet won.' : round.winners === 1 ? '1 wallet won.' : `${numberText(round.winners)} wallets won.`}{' '}
        <a href={`/check/round/${round.id}`}>Check this draw yourself</a>
      </p>
    </div>
  );
}
