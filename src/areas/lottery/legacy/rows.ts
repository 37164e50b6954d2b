import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { RefundRow, TICKET_STATES } from '../entities.ts';
import { ACCEPTED_ENTRY, type AcceptedEntry } from '../entries.ts';

type TicketState = (typeof TICKET_STATES)[number];

/** A ticket as stored in the table `tickets`. Times are ISO 8601 in UTC, to the millisecond. */
export interface TicketRow {
  id: string;
  round: string;
  wallet: string;
  signature: string | null;
  state: TicketState;
  /** Whether the wallet requested the ticket. False: the service found its payment on the chain. */
  requested: boolean;
  found: boolean;
  reason: string | null;
  /** The entry rule or restriction that refused the wallet; null when there was none. */
  brokenRule: string | null;
  refunds: readonly RefundRow[];
  requestedAt: string;
  decidedAt: string | null;
  /** The ticket's entry in the round; null while the ticket is not confirmed. */
  entry: AcceptedEntry | null;
}

const COLUMNS = `t.id::text, t.round::text, t.wallet, t.signature, t.state, t.requested, t.found, t.reason, t.broken_rule as "brokenRule", t.refunds,
  ${instant('t.created_at')} as "requestedAt", ${instant('t.decided_at')} as "decidedAt",
  (select ${ACCEPTED_ENTRY} from entries e join rounds r on r.id = e.round where e.id = t.id) as entry`;

const byIds = statement<TicketRow>('select_tickets', `select ${COLUMNS} from tickets t where t.id = any($1::uuid[])`);
const byPayment = statement<TicketRow>('select_ticket_by_payment', `select ${COLUMNS} from tickets t where t.signature = $1 and t.wallet = $2`);

/** Reads tickets by id. Unknown ids are omitted. */
export const readTickets = (db: Queryable, ids: readonly string[]): Promise<TicketRow[]> => db.query(byIds, [ids]);

/** Reads the ticket that a wallet requested with the signature of a paying transaction. */
export async function readTicketByPayment(db: Queryable, wallet: string, signature: string): Promise<TicketRow | undefined> {
  return (await db.query(byPayment, [signature, wallet]))[0];
}
