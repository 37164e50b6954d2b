import { lockPlayers } from '#areas/points';
import type { Config } from '#config';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { isoInstant, queryBuilder, run } from '#platform/db/query-builder.ts';
import type { Queryable } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { pageUrl } from '#platform/http/pages/page.ts';
import { newCode } from './codes.ts';
import { ReferralLinksTable } from './entities.ts';

/** Maximum links per wallet. A check constraint of the table enforces the same limit. */
export const MAX_LINKS = 20;
/** Maximum attempts to generate a code that does not exist yet. */
const MAX_ATTEMPTS = 10;

export interface ReferralLink {
  readonly code: string;
  readonly createdAt: string;
}

const build = queryBuilder([ReferralLinksTable]);
const COLUMNS = ['n', 'code', isoInstant('created_at').as('createdAt')] as const;

async function findNewest(db: Queryable, wallet: string): Promise<(ReferralLink & { n: number }) | undefined> {
  const [link] = await run(db, build.selectFrom('referral_links').select(COLUMNS).where('wallet', '=', wallet).orderBy('n', 'desc').limit(1));
  return link;
}

/** Returns the newest link of a wallet. Creates a link when the wallet has none. */
export async function findOrCreateLink(app: App, wallet: string): Promise<ReferralLink> {
  const link = await findNewest(app.db, wallet);
  return (
    link ??
    (await app.tx(async (tx) => {
      await lockPlayers(tx, [wallet]);
      return (await findNewest(tx, wallet)) ?? (await insertLink(tx, wallet, 1, newCode));
    }))
  );
}

/**
 * Creates a new link, which replaces the link that the wallet shares. The codes of older links stay valid.
 * @throws 409 when the wallet has `MAX_LINKS` links already
 */
export async function createLink(tx: Tx, wallet: string, generateCode: () => string = newCode): Promise<ReferralLink> {
  await lockPlayers(tx, [wallet]);
  const n = 1 + ((await findNewest(tx, wallet))?.n ?? 0);
  if (n > MAX_LINKS) throw fail(409, `a wallet may have at most ${MAX_LINKS} referral links`);
  return await insertLink(tx, wallet, n, generateCode);
}

async function insertLink(tx: Tx, wallet: string, n: number, generateCode: () => string): Promise<ReferralLink> {
  for (let i = 0; i < MAX_ATTEMPTS; i++) {
    const values = { wallet, n, code: generateCode() };
    const insert = build
      .insertInto('referral_links')
      .values(values)
      .onConflict((conflict) => conflict.doNothing());
    const [link] = await run(tx, insert.returning(COLUMNS));
    if (link) return link;
  }
  throw new Error('no free referral code was found');
}

/** Returns the URL of a link, which leads to the front end, or to a page of this service. */
export const urlOf = (config: Pick<Config, 'frontendUrl' | 'publicUrl'>, code: string): string => pageUrl(config, `/?ref=${code}`);
