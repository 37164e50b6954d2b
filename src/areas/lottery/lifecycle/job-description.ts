import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { JobDescription } from '#platform/jobs/description.ts';

const selectRounds = statement<{ id: string; kind: string; state: string; title: string | null; entries: number; closesAt: string | null }>(
  'select_rounds_for_board',
  `select id, kind, state, title, entries, ${instant('closes_at')} as "closesAt" from rounds where id = any($1::uuid[])`,
);

/** Describes the rounds that jobs advance. */
export async function describeRounds(db: Queryable, payloads: readonly { round: string }[]): Promise<(payload: { round: string }) => JobDescription> {
  const rows = await db.query(selectRounds, [payloads.map(({ round }) => round)]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ({ round }) => {
    const record = byId.get(round);
    if (!record) return { about: `round ${round}` };
    const route = record.kind === 'chat' ? 'get /chat/round/{id}/audit' : 'post /round/{id}/finalize';
    return { about: `${record.kind} round ${round}${record.title === null ? '' : `, ${record.title}`}`, record, route };
  };
}

const selectTickets = statement<{
  id: string;
  round: string;
  wallet: string;
  signature: string | null;
  state: string;
  reason: string | null;
  nextAt: string;
}>(
  'select_tickets_for_board',
  `select id, round, wallet, signature, state, reason, ${instant('next_at')} as "nextAt" from tickets where id = any($1::uuid[])`,
);

/** Describes the tickets whose payments jobs check. A ticket that is not decided is checked again at `nextAt`. */
export async function describeTickets(
  db: Queryable,
  payloads: readonly { ticket: string }[],
): Promise<(payload: { ticket: string }) => JobDescription> {
  const rows = await db.query(selectTickets, [payloads.map(({ ticket }) => ticket)]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ({ ticket }) => {
    const record = byId.get(ticket);
    return record
      ? { about: `ticket ${ticket} of wallet ${record.wallet} in round ${record.round}`, record, route: 'get /round/{id}/tickets/{ticketId}' }
      : { about: `ticket ${ticket}` };
  };
}
