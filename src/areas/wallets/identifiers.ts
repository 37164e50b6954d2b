import { fail } from '#lib/errors.ts';
import { Wallet } from '#lib/scalars.ts';
import type { App } from '#platform/app.ts';
import { isOnCurve, NAME_RULE, type Name, parseName, walletOfName } from '#platform/solana/names/names.ts';
import { findWalletByHandle } from './handles.ts';

/** What somebody may call a wallet by. */
export type Identifier =
  | { readonly source: 'address'; readonly wallet: string }
  | { readonly source: 'sol' | 'sns'; readonly name: Name }
  | { readonly source: 'handle'; readonly handle: string };

/** Tells an identifier's kind by its form: `@` begins handles, a suffix ends names, and neither is in an address. */
export function readIdentifier(text: string): Identifier | { readonly wrong: string } {
  if (text.startsWith('@')) {
    const handle = text.slice(1).toLowerCase();
    return /^[a-z0-9_]{1,32}$/.test(handle) ? { source: 'handle', handle } : { wrong: 'must be @ and 1 to 32 letters, digits or underscores' };
  }
  if (/\.(?:sol|sns)$/i.test(text)) {
    const name = parseName(text);
    return name ? { source: name.suffix, name } : { wrong: NAME_RULE };
  }
  if (Wallet.safeParse(text).success) return { source: 'address', wallet: text };
  return { wrong: 'must be a wallet address (base58 of 32 bytes), a name that ends in .sol or .sns, or @handle' };
}

/**
 * The wallet of an identifier.
 * @throws 404 where there is none, or none that money may be sent to; 503 while the chain cannot be asked
 */
export async function resolveIdentifier(app: App, identifier: Identifier): Promise<{ wallet: string; onCurve: boolean }> {
  const wallet = await walletOf(app, identifier);
  return { wallet, onCurve: isOnCurve(wallet) };
}

async function walletOf(app: App, identifier: Identifier): Promise<string> {
  if (identifier.source === 'address') return identifier.wallet;
  if (identifier.source === 'handle') {
    const wallet = await findWalletByHandle(app, identifier.handle);
    if (wallet === null) throw fail(404, 'no such handle');
    return wallet;
  }
  const verdict = await walletOfName(app, identifier.name);
  if ('refused' in verdict) throw fail(404, verdict.refused);
  return verdict.wallet;
}
