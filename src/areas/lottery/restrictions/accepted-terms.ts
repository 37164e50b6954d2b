import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { TermsView } from './schemas.ts';

const select = statement<{ at: string }>(
  'select_accepted_terms',
  `select ${instant('at')} as at from accepted_terms where wallet = $1 and version = $2`,
);
const insert = statement('insert_accepted_terms', 'insert into accepted_terms (wallet, version) values ($1, $2) on conflict do nothing');

/** Reads the current terms and the time at which a wallet accepted them. */
export async function readTerms({ config: { restrictions } }: Pick<App, 'config'>, db: Queryable, wallet: string): Promise<TermsView> {
  const { terms } = restrictions;
  if (terms === null) return { version: null, url: null, acceptedAt: null };
  return { ...terms, acceptedAt: (await db.query(select, [wallet, terms.version]))[0]?.at ?? null };
}

/**
 * Records that a wallet accepts the current terms. A repeated request keeps the first time.
 * @throws 409 when the version is not the current one, or when the service has no terms
 */
export async function acceptTerms(app: Pick<App, 'config'>, tx: Tx, wallet: string, version: string): Promise<TermsView> {
  const { terms } = app.config.restrictions;
  if (terms === null) throw fail(409, 'this service has no terms to accept');
  if (version !== terms.version) throw fail(409, `version must be ${terms.version}, the current version of the terms`);
  await tx.query(insert, [wallet, version]);
  return await readTerms(app, tx, wallet);
}
