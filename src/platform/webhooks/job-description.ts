import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { JobDescription } from '#platform/jobs/description.ts';
import type { Delivery } from './inbox.ts';

const selectForBoard = statement<{ source: string; id: string; state: string; attempts: number; verdict: string | null; receivedAt: string }>(
  'select_deliveries_for_board',
  `select d.source, d.id, d.state, d.attempts, d.verdict, ${instant('d.received_at')} as "receivedAt"
   from webhook_deliveries d join unnest($1::text[], $2::text[]) as w(source, id) on d.source = w.source and d.id = w.id`,
);

/** Describes the deliveries that jobs process, with the number of attempts and the result of the last one. */
export async function describeDeliveries(db: Queryable, payloads: readonly Delivery[]): Promise<(payload: Delivery) => JobDescription> {
  const rows = await db.query(selectForBoard, [payloads.map(({ source }) => source), payloads.map(({ id }) => id)]);
  const byKey = new Map(rows.map((row) => [`${row.source} ${row.id}`, row]));
  return ({ source, id }) => {
    const record = byKey.get(`${source} ${id}`);
    return { about: `delivery ${id} from ${source}`, ...(record ? { record } : {}), route: 'post /admin/webhooks/{source}/{id}/replay' };
  };
}
