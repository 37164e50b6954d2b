import { findWalletByHandle } from '#areas/social';
import { fail } from '#lib/errors.ts';
import { Wallet } from '#lib/scalars.ts';
import type { App } from '#platform/app.ts';
import { NAME_RULE, type Name, parseName, walletOfName } from '#platform/solana/names/index.ts';
import { isOnCurve, parseAddress } from '#platform/solana/primitives.ts';

/** A parsed identifier of a wallet: an address, a name or a handle. */
export type Identifier =
  | { readonly source: 'address'; readonly wallet: string }
  | { readonly source: 'sol' | 'sns'; readonly name: Name }
  | { readonly source: 'handle'; readonly handle: string };

/** Parses an identifier of a wallet: a handle begins with `@`, a name ends with `.sol` or `.sns`, and an address has neither. */
export function parseIdentifier(text: string): Identifier | { readonly error: string } {
  if (text.startsWith('@')) {
    const handle = text.slice(1).toLowerCase();
    return /^[a-z0-9_]{1,32}$/.test(handle) ? { source: 'handle', handle } : { error: 'must be @ and 1 to 32 letters, digits or underscores' };
  }
  if (/\.(?:sol|sns)$/i.test(text)) {
    const name = parseName(text);
    return name ? { source: name.suffix, name } : { error: NAME_RULE };
  }
  if (Wallet.safeParse(text).success) return { source: 'address', wallet: text };
  return { error: 'must be a wallet address (base58 of 32 bytes), a name that ends in .sol or .sns, or @handle' };
}

/**
 * Finds the wallet of an identifier.
 * @throws 404 when the identifier has no wallet, or when its wallet cannot receive tokens safely; 503 when the RPC node does not respond
 */
export async function resolveIdentifier(app: App, identifier: Identifier): Promise<{ wallet: string; onCurve: boolean }> {
  const wallet = await resolveWallet(app, identifier);
  return { wallet, onCurve: isOnCurve(parseAddress(wallet)) };
}

async function resolveWallet(app: App, identifier: Identifier): Promise<string> {
  if (identifier.source === 'address') return identifier.wallet;
  if (identifier.source === 'handle') {
    const wallet = await findWalletByHandle(app.db, 'x', identifier.handle);
    if (wallet === null) throw fail(404, 'no such handle');
    return wallet;
  }
  const resolution = await walletOfName(app, identifier.name);
  if ('refused' in resolution) throw fail(404, resolution.refused);
  return resolution.wallet;
}
