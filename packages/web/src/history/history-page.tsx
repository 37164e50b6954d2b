import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { type Api, client, ok } from '../client.ts';
import { useLoaded } from '../live/load.ts';
import { useEvents } from '../live/use-events.ts';
import { ClaimLine } from '../rewards/claim-line.tsx';
import { query, replaceQuery } from '../router.tsx';
import { session } from '../session/session.ts';
import { sessionKey } from '../session/session-key.ts';
import { SignInHint, Standing } from '../session/standing.tsx';
import { ProblemNote } from '../ui/problem-note.tsx';
import { Choices } from '../ui/tabs.tsx';
import { EntryLine, PaymentLine, ScoreLine } from './lines.tsx';

const STEP = 50;
const MAX = 500;

type EventType = Exclude<keyof Api.Events, 'reset'>;

/** A list of the visitor’s own rows, newest first. */
interface List {
  readonly name: string;
  readonly empty: string;
  /** Events after which the list has other rows. */
  readonly events: readonly EventType[];
  read(limit: number): Promise<readonly { readonly key: string; readonly line: ComponentChildren }[]>;
}

const LISTS: Readonly<Record<'scores' | 'entries' | 'claims' | 'payments', List>> = {
  scores: {
    name: 'Scores',
    empty: 'You have no score yet. Play a game; its score appears here.',
    events: ['score_recorded', 'score_decided'],
    read: async (limit) =>
      (await ok(client.get('/me/scores', { query: { limit } }))).body.map((score) => ({ key: score.scoreId, line: <ScoreLine score={score} /> })),
  },
  entries: {
    name: 'Entries and tickets',
    empty: 'You have entered no round yet. The open round is on the first page.',
    events: ['round_finalized', 'ticket_confirmed', 'ticket_refused'],
    read: async (limit) =>
      (await ok(client.get('/me/entries', { query: { limit } }))).body.map((entry) => ({ key: entry.id, line: <EntryLine entry={entry} /> })),
  },
  claims: {
    name: 'Claims',
    empty: 'You have claimed no reward yet.',
    events: ['claim_submitted', 'claim_confirmed', 'claim_failed'],
    read: async (limit) =>
      (await ok(client.get('/me/claims', { query: { limit } }))).body.map((claim) => ({ key: claim.claimId, line: <ClaimLine claim={claim} /> })),
  },
  payments: {
    name: 'Prizes and refunds',
    empty: 'The arcade has paid you no prize or refund yet.',
    events: ['payout_confirmed', 'payout_failed', 'round_finalized'],
    read: async (limit) =>
      (await ok(client.get('/api/me/payments', { query: { limit } }))).body.map((payment) => ({
        key: payment.id,
        line: <PaymentLine payment={payment} />,
      })),
  },
};
type ListName = keyof typeof LISTS;
const NAMES = ['scores', 'entries', 'claims', 'payments'] as const;

/** The visitor’s own scores, entries, claims and payments. */
export default function HistoryPage() {
  const named = query.value.get('list');
  const chosen = NAMES.find((name) => name === named) ?? 'scores';
  return (
    <>
      <h1>Your history</h1>
      <Standing />
      {session.value === null && <SignInHint>Sign in to see your scores, entries and claims.</SignInHint>}
      {session.value && (
        <>
          <Choices
            label="List"
            choices={NAMES.map((name) => [name, LISTS[name].name] as const)}
            chosen={chosen}
            choose={(list) => replaceQuery({ list: list === 'scores' ? null : list })}
          />
          <Rows key={`${chosen} ${sessionKey.value}`} name={chosen} />
        </>
      )}
    </>
  );
}

function Rows({ name }: { name: ListName }) {
  const list = LISTS[name];
  const limit = useSignal(STEP);
  const loaded = useLoaded(() => list.read(limit.value), []);
  const wallet = session.value?.wallet;
  useEvents(
    list.events,
    (event) => {
      // Some of these events tell about every wallet.
      if (!('wallet' in event) || event.wallet === wallet) loaded.reload();
    },
    [loaded],
  );
  const rows = loaded.value.value;
  return (
    <section class="panel" aria-label={list.name}>
      <ProblemNote problem={loaded.problem.value} retry={loaded.reload} />
      {!rows && loaded.problem.value === null && <p class="quiet">Loading…</p>}
      {rows?.length === 0 && <p class="empty">{list.empty}</p>}
      <ul class="lines">
        {rows?.map(({ key, line }) => (
          <li key={key}>{line}</li>
        ))}
      </ul>
      {rows && rows.length === limit.value && limit.value < MAX && (
        <p>
          <button
            type="button"
            class="second"
            onClick={() => {
              limit.value = Math.min(MAX, limit.value + STEP);
              loaded.reload();
            }}
          >
            Show more
          </button>
        </p>
      )}
    </section>
  );
}
