import { z } from 'zod';
import { PageQuery } from '#lib/paging.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import { ROUND_STATES } from './entities.ts';
import { ROUND_COLUMNS, type RoundKind, type RoundRow, type RoundState } from './rows.ts';

const isState = (text: string): text is RoundState => (ROUND_STATES as readonly string[]).includes(text);
const MESSAGE = `must be a comma-separated list of ${ROUND_STATES.join(', ')}`;

/** The query of a list of rounds: the states of the rounds, and the page. */
export const RoundsQuery = PageQuery.extend({
  status: z
    .string(MESSAGE)
    .refine((text) => text.split(',').every(isState), MESSAGE)
    .optional()
    .meta({ description: 'Comma-separated states of the listed rounds; all states by default.', example: 'closing,committed' }),
});

/** Returns the states that a query names, each once. Returns all states when the query names none. */
const statesOf = (list: string | undefined): RoundState[] => [...new Set(list?.split(',').filter(isState) ?? ROUND_STATES)];

// Reads at most `offset + limit` entries of the index for each state.
const selectPage = statement<RoundRow>(
  'select_rounds_page',
  `select ${ROUND_COLUMNS} from (
     select newest.* from unnest($2::text[]) as s(state)
     cross join lateral (
       select id, created_at from rounds where kind = $1 and state = s.state order by created_at desc, id desc limit $3::int + $4::int) newest
     order by newest.created_at desc, newest.id desc limit $3::int offset $4::int) page
   join rounds r on r.id = page.id order by page.created_at desc, page.id desc`,
);
const countRounds = statement<{ total: number }>(
  'count_listed_rounds',
  'select count(*)::int as total from rounds where kind = $1 and state = any($2::text[])',
);

/** Reads a page of the rounds of one kind, newest first, and the number of all rounds that the query selects. */
export async function listRounds(
  db: Queryable,
  kind: RoundKind,
  { status, limit, offset }: z.output<typeof RoundsQuery>,
): Promise<{ rounds: RoundRow[]; total: number }> {
  const states = statesOf(status);
  const [rounds, [count]] = await Promise.all([db.query(selectPage, [kind, states, limit, offset]), db.query(countRounds, [kind, states])]);
  return { rounds, total: count?.total ?? 0 };
}
