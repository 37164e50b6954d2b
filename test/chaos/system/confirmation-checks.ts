import { createHash } from 'node:crypto';
import type { Client } from './client.ts';
import type { Confirmed } from './confirmed.ts';
import { type Database, recordedScoresOf, type StoredEvent } from './database.ts';

/** Maximum share of the players' scores that the review rules may hold. */
const MAX_HELD = 0.2;

/** Maximum failures to list per check. */
const MAX_LISTED = 5;

type Row = { readonly [column: string]: string | number | null };

/** Confirmed items of one kind, and the SQL that reads their rows by the ids in $1. */
interface Comparison {
  readonly label: string;
  readonly sql: string;
  readonly expected: readonly (Row & { readonly id: string })[];
}

/** Checks that everything that was confirmed is in the database and in the events, exactly once. @returns one sentence per failure */
export async function confirmationFailures(database: Database, confirmed: Confirmed, events: readonly StoredEvent[]): Promise<string[]> {
  const found: string[] = [];
  for (const comparison of comparisons(confirmed)) found.push(...(await differences(database, comparison)));
  found.push(...duplicateConfirmations(confirmed), ...missingEvents(confirmed, events));
  const held = confirmed.scores.filter(({ status }) => status === 'held').length;
  if (held > confirmed.scores.length * MAX_HELD) found.push(`${held} of ${confirmed.scores.length} scores of honest players are held`);
  return found;
}

function comparisons(confirmed: Confirmed): Comparison[] {
  const { plays, scores, messages, entries, claims, tickets, deliveries, tasks, clips } = confirmed;
  return [
    {
      label: 'play',
      sql: 'select id::text, wallet from plays where id = any($1::uuid[])',
      expected: plays.map(({ playId, wallet }) => ({ id: playId, wallet })),
    },
    {
      label: 'score',
      sql: `select id::text, wallet, play_id::text as play, normalized, points, battle_id::text as battle, status from scores where id = any($1::uuid[])`,
      expected: scores.map((s) => ({
        ...{ id: s.scoreId, wallet: s.wallet, play: s.playId, normalized: s.normalized, points: s.points, battle: s.battleId, status: s.status },
      })),
    },
    {
      label: 'chat message',
      sql: 'select id::text, wallet, text from chat_messages where id = any($1::uuid[])',
      expected: messages.map(({ messageId, wallet, text }) => ({ id: messageId, wallet, text })),
    },
    {
      label: 'entry',
      sql: 'select id::text, wallet, round::text, index from entries where id = any($1::uuid[])',
      expected: entries.map(({ id, wallet, round, sequence }) => ({ id, wallet, round, index: sequence })),
    },
    {
      label: 'claim',
      sql: 'select id::text, wallet, epoch, state from claims where id = any($1::uuid[])',
      expected: claims.map(({ claimId, wallet, epoch }) => ({ id: claimId, wallet, epoch, state: 'claimed' })),
    },
    {
      label: 'ticket',
      sql: `select id::text, wallet, round::text, signature, case when state = 'refunded' then 'confirmed' else state end as state from tickets where id = any($1::uuid[])`,
      expected: tickets
        .filter(({ final }) => final)
        .map((t) => ({ id: t.ticketId, wallet: t.wallet, round: t.round, signature: t.signature, state: 'confirmed' })),
    },
    {
      label: 'requested ticket',
      sql: 'select id::text, wallet, signature from tickets where id = any($1::uuid[])',
      expected: tickets.map((t) => ({ id: t.ticketId, wallet: t.wallet, signature: t.signature })),
    },
    {
      label: 'webhook delivery',
      sql: `select d.id, d.state, (select count(*)::int from chat_messages m where m.source = 'twitch' and m.source_id = convert_from(d.body, 'utf8')::json->>'messageId') as shown
        from webhook_deliveries d where d.source = 'chat-bridge' and d.id = any($1::text[])`,
      expected: deliveries.map(({ id }) => ({ id, state: 'worked', shown: 1 })),
    },
    {
      label: 'completed task',
      sql: `select q.wallet || ' ' || q.quest_id as id, q.points::int, (select count(*)::int from ledger l where l.wallet = q.wallet and l.kind = 'quest' and l.source_id like q.quest_id || ':%') as given
        from quest_completions q where q.wallet || ' ' || q.quest_id = any($1::text[])`,
      expected: tasks.map(({ wallet, taskId, points }) => ({ id: `${wallet} ${taskId}`, points, given: 1 })),
    },
    {
      label: 'clip',
      sql: 'select id::text, wallet, state from clips where id = any($1::uuid[])',
      expected: clips.map(({ id, wallet }) => ({ id, wallet, state: 'ready' })),
    },
  ];
}

/** Checks that the database has accepted scores of which only the ids are known. @returns one sentence per missing score */
export async function scoreFailures(database: Database, ids: readonly string[]): Promise<string[]> {
  const rows = await database.rows<{ id: string }>('select id::text from scores where id = any($1::uuid[])', [ids]);
  const stored = new Set(rows.map(({ id }) => id));
  return limited(ids.filter((id) => !stored.has(id)).map((id) => `score ${id} of the hostile caller was confirmed and is not in the database`));
}

async function differences(database: Database, { label, sql, expected }: Comparison): Promise<string[]> {
  const rows = await database.rows<Row & { id: string }>(sql, [expected.map(({ id }) => id)]);
  const stored = Map.groupBy(rows, ({ id }) => id);
  return limited(
    expected.flatMap((one) => {
      const there = stored.get(one.id) ?? [];
      const isAsExpected = there.length === 1 && Object.entries(one).every(([column, value]) => there[0]?.[column] === value);
      return isAsExpected ? [] : [`${label} ${JSON.stringify(one)} was confirmed, the database has ${JSON.stringify(there)}`];
    }),
  );
}

/** Rows that must be unique per client request. `by`: the SQL expression that identifies the request. */
const UNIQUE_ROWS: readonly { readonly what: string; readonly from: string; readonly by: string }[] = [
  { what: 'a play has several scores', from: 'scores where play_id is not null', by: 'play_id' },
  {
    what: 'a chat message exists several times',
    from: `chat_messages where source = 'chat' and text not in ('!enter', 'final message')`,
    by: `wallet || ' ' || text`,
  },
  { what: 'a message of a chat bridge exists several times', from: `chat_messages where source <> 'chat'`, by: `source || ' ' || source_id` },
  {
    what: 'a wallet has several entries in a round',
    from: `entries e join rounds r on r.id = e.round and r.kind = 'chat'`,
    by: `e.round || ' ' || e.wallet`,
  },
  { what: 'a transaction pays for several tickets', from: `tickets where state in ('confirmed', 'refunded')`, by: 'signature' },
  { what: 'a leaf has several claims', from: 'claims', by: `epoch || ' ' || index` },
  { what: 'a completion gave points several times', from: `ledger where kind = 'quest'`, by: `wallet || ' ' || source_id` },
];

/** Checks that no request of a client has taken effect twice. @returns one sentence per failure */
export async function duplicateRows(database: Database): Promise<string[]> {
  const counts = UNIQUE_ROWS.map(({ what, from, by }) => `select '${what}: ' || (${by}) as what from ${from} group by ${by} having count(*) > 1`);
  return limited((await database.rows<{ what: string }>(counts.join(' union all '))).map(({ what }) => what));
}

/** Checks that no score, message, entry, claim or clip was confirmed to two different requests. */
function duplicateConfirmations({ scores, entries, claims, messages, clips }: Confirmed): string[] {
  const repeated = (what: string, names: readonly string[]) =>
    [...Map.groupBy(names, (name) => name)]
      .filter(([, all]) => all.length > 1)
      .map(([name, all]) => `${what} ${name} was confirmed ${all.length} times`);
  return limited([
    ...repeated(
      'a score of play',
      scores.map(({ playId }) => playId),
    ),
    ...repeated(
      'score',
      scores.map(({ scoreId }) => scoreId),
    ),
    ...repeated(
      'message',
      messages.map(({ messageId }) => messageId),
    ),
    ...repeated(
      'entry',
      entries.map(({ round, sequence }) => `${round}/${sequence}`),
    ),
    ...repeated(
      'claim',
      claims.map(({ claimId }) => claimId),
    ),
    ...repeated(
      'clip',
      clips.map(({ id }) => id),
    ),
  ]);
}

/** Checks that exactly one event was published for each confirmed score, message, entry and claim. */
function missingEvents({ scores, messages, entries, claims }: Confirmed, events: readonly StoredEvent[]): string[] {
  const told = new Map<string, number>();
  for (const event of events) {
    const { type, payload } = event;
    const names = type === 'score_recorded' ? recordedScoresOf(event).map(({ scoreId }) => scoreId) : nameOf(type, payload);
    for (const name of names) told.set(`${type} ${name}`, (told.get(`${type} ${name}`) ?? 0) + 1);
  }
  const due = [
    ...scores.map(({ scoreId }) => `score_recorded ${scoreId}`),
    ...messages.map(({ messageId }) => `chat_message ${messageId}`),
    ...entries.map(({ id }) => `new_entry ${id}`),
    ...claims.map(({ claimId }) => `claim_confirmed ${claimId}`),
  ];
  return limited(due.flatMap((name) => (told.get(name) === 1 ? [] : [`${name} was confirmed and is in ${told.get(name) ?? 0} events`])));
}

function nameOf(type: string, payload: StoredEvent['payload']): string[] {
  if (type === 'chat_message') return [String(payload.messageId)];
  if (type === 'new_entry') return [String(payload.entryId)];
  return type === 'claim_confirmed' && payload.final === true ? [String(payload.claimId)] : [];
}

interface ShownBattle {
  readonly status: string;
  readonly winners: readonly string[];
  readonly participants: readonly { readonly wallet: string; readonly score: number | null; readonly scores: number }[];
}

/** Checks that the endpoints show the confirmed sessions, clips, battles and entries. @returns one sentence per failure */
export async function responseFailures(
  client: Client,
  clientOf: (cookie: string) => Client,
  { sessions, signedOut, clips, battles, scores, entries }: Confirmed,
): Promise<string[]> {
  const found: string[] = [];
  for (const { wallet, cookie } of sessions) {
    const { status, body } = await clientOf(cookie).request<{ wallet?: string }>('/me');
    if (status !== 200 || body.wallet !== wallet) found.push(`${wallet} signed in and /me returns ${status} ${JSON.stringify(body)}`);
  }
  for (const { wallet, cookie } of signedOut) {
    const { status } = await clientOf(cookie).request('/me');
    if (status !== 401) found.push(`${wallet} signed out and /me returns ${status}`);
  }
  for (const { id, sha256 } of clips) {
    const bytes = await fetch(`${client.nextUrl()}/clips/${id}/media`).then((response) => response.bytes());
    if (createHash('sha256').update(bytes).digest('hex') !== sha256) found.push(`clip ${id} differs from the uploaded file`);
  }
  for (const { battleId } of battles) {
    const { body } = await client.request<ShownBattle>(`/battle/${battleId}`);
    const own = scores.filter((score) => score.battleId === battleId);
    const best = Math.max(...own.map(({ normalized }) => normalized));
    const winners = own.filter(({ normalized }) => normalized === best).map(({ wallet }) => wallet);
    const isRight =
      own.every(({ wallet, normalized }) =>
        body.participants.some((seat) => seat.wallet === wallet && seat.score === normalized && seat.scores === 1),
      ) &&
      (own.length < 2 || (body.status === 'finished' && winners.toSorted().join() === [...body.winners].sort().join()));
    if (!isRight) found.push(`battle ${battleId} with ${JSON.stringify(own)} is shown as ${JSON.stringify(body)}`);
  }
  for (const [round, own] of Map.groupBy(entries, (entry) => entry.round)) {
    for (const { id, sequence, leaf } of own) {
      const { body } = await client.request<readonly { leaf: string }[]>(`/chat/round/${round}/entries?limit=1&offset=${sequence}`);
      if (body[0]?.leaf !== leaf) found.push(`entry ${id}, number ${sequence} of round ${round}, differs from its receipt`);
    }
  }
  return limited(found);
}

const limited = (found: readonly string[]): string[] =>
  found.length > MAX_LISTED ? [...found.slice(0, MAX_LISTED), `and ${found.length - MAX_LISTED} more`] : [...found];
