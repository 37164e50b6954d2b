import type { App } from '../../context.ts';

/**
 * The wallet that has linked an account of the social network; null where none has.
 * No account can be linked yet, so there is none to be found: linking comes with the social area, whose door answers here then.
 * @param _handle without the `@`, in lower case: handles are compared without it
 */
export async function findWalletByHandle(_app: App, _handle: string): Promise<string | null> {
  return null;
}
