import { fail } from '#lib/errors.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Distribution, DistributionPage } from './distribution.ts';

/** Maximum wallets that the error sentence names. */
const MAX_REPORTED = 10;

const selectBanned = statement<{ wallet: string }>(
  'select_banned_of_import',
  `select wallet from players where banned_at is not null and wallet = any(string_to_array($1, ',')) order by wallet`,
);

/**
 * Refuses a distribution that contains banned wallets.
 * @throws 400 with the first ten of these wallets
 */
export async function refuseBanned(
  db: Queryable,
  { pages }: Pick<Distribution, 'pages'>,
  page: (number: number) => Promise<DistributionPage>,
): Promise<void> {
  const banned: string[] = [];
  for (let number = 0; number < pages; number++) {
    const { wallets } = await page(number);
    banned.push(...(await db.query(selectBanned, [wallets])).map(({ wallet }) => wallet));
  }
  if (banned.length === 0) return;
  const more = banned.length > MAX_REPORTED ? `; and ${banned.length - MAX_REPORTED} more` : '';
  throw fail(400, `distribution must not contain banned wallets, but has: ${banned.slice(0, MAX_REPORTED).join(', ')}${more}`);
}
