import { findWalletByHandle as findByHandle } from '#areas/social';
import type { App } from '#platform/app.ts';

/**
 * The wallet that has linked an account of the social network; null where none has.
 * @param handle without the `@`, in any case
 */
export async function findWalletByHandle(app: App, handle: string): Promise<string | null> {
  return await findByHandle(app.db, 'x', handle);
}
