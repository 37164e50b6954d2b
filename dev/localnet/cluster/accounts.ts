import { type Key, keyOf, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../keys.ts';
import type { SvmAccount } from './svm.ts';

/** Number of slots for which old account states are stored. Reads at `finalized`, lagging nodes and forks need old states. */
const KEPT_SLOTS = 512;

/** The state of an account from `slot` on. `account` is null if the account does not exist. */
interface AccountVersion {
  readonly slot: number;
  readonly account: SvmAccount | null;
}

/**
 * The states of all written accounts over the last 512 slots. The state of an account that was never written (a native program or a sysvar) comes
 * from `builtIn`.
 */
export class Accounts {
  readonly #versions = new Map<Key, AccountVersion[]>();
  readonly #owned = new KeyIndex();
  readonly #tokensOf = new KeyIndex();
  readonly #builtIn: (key: Key, slot: number) => SvmAccount | null;

  constructor(builtIn: (key: Key, slot: number) => SvmAccount | null) {
    this.#builtIn = builtIn;
  }

  /** Returns the state of an account at the end of `slot`; null if it did not exist. Precondition: `slot` is one of the last 512 slots. */
  at(key: Key, slot: number): SvmAccount | null {
    const versions = this.#versions.get(key);
    if (!versions) return this.#builtIn(key, slot);
    for (let i = versions.length - 1; i >= 0; i--) {
      const version = versions[i];
      if (version && version.slot <= slot) return version.account;
    }
    return null;
  }

  /** Returns the current state of an account; null if it does not exist. */
  newest(key: Key): SvmAccount | null {
    const versions = this.#versions.get(key);
    return versions ? (versions.at(-1)?.account ?? null) : this.#builtIn(key, Number.MAX_SAFE_INTEGER);
  }

  /** Stores the state that an account has from `slot` on. The first write of an account also stores `before`, the state until `slot`. */
  write(key: Key, slot: number, account: SvmAccount | null, before: SvmAccount | null): void {
    let versions = this.#versions.get(key);
    if (!versions) {
      versions = [{ slot: -1, account: before }];
      this.#versions.set(key, versions);
    }
    const last = versions.at(-1);
    if (last?.slot === slot) versions.pop();
    versions.push({ slot, account });
    while (versions[1] && versions[1].slot < slot - KEPT_SLOTS) versions.shift();
    if (!account) return;
    this.#owned.add(account.owner, key);
    const owner = tokenOwnerOf(account);
    if (owner !== null) this.#tokensOf.add(owner, key);
  }

  /**
   * Deletes all states that were stored for `slot` and later slots.
   * @returns the accounts that lost a state
   */
  rollBack(slot: number): Key[] {
    const undone: Key[] = [];
    for (const [key, versions] of this.#versions) {
      if ((versions.at(-1)?.slot ?? -1) < slot) continue;
      while ((versions.at(-1)?.slot ?? -1) >= slot) versions.pop();
      undone.push(key);
    }
    return undone;
  }

  /** Returns the keys of all accounts that were ever written. */
  keys(): Iterable<Key> {
    return this.#versions.keys();
  }

  /** Yields the accounts that a program owned at the end of a slot. */
  *ownedBy(program: Key, slot: number): Generator<[Key, SvmAccount]> {
    for (const key of this.#owned.of(program)) {
      const account = this.at(key, slot);
      if (account?.owner === program) yield [key, account];
    }
  }

  /** Yields the token accounts that a wallet owned at the end of a slot. */
  *tokensOf(wallet: Key, slot: number): Generator<[Key, SvmAccount]> {
    for (const key of this.#tokensOf.of(wallet)) {
      const account = this.at(key, slot);
      if (account && tokenOwnerOf(account) === wallet) yield [key, account];
    }
  }
}

/** Maps an owner (a program or a wallet) to all accounts that this owner has ever owned. The caller must check that the owner still owns them. */
class KeyIndex {
  readonly #entries = new Map<Key, Set<Key>>();

  add(name: Key, key: Key): void {
    const entries = this.#entries.get(name);
    if (entries) entries.add(key);
    else this.#entries.set(name, new Set([key]));
  }

  of(name: Key): Iterable<Key> {
    return this.#entries.get(name) ?? [];
  }
}

/** Data lengths of a token account and of a mint, bytes. */
const TOKEN_ACCOUNT_BYTES = 165;
const MINT_BYTES = 82;

export interface TokenAccount {
  readonly mint: Key;
  readonly owner: Key;
  readonly amount: bigint;
  readonly frozen: boolean;
  readonly program: Key;
}

/** Parses a token account. Returns null if the account is not an initialized token account. */
export function tokenAccountOf(account: SvmAccount | null): TokenAccount | null {
  if (!account || !isToken(account) || account.data.length < TOKEN_ACCOUNT_BYTES) return null;
  const { data } = account;
  // If a Token-2022 account has extensions, the byte after the first 165 bytes is the account type: 1 = mint, 2 = token account.
  if (data.length > TOKEN_ACCOUNT_BYTES && data[TOKEN_ACCOUNT_BYTES] !== 2) return null;
  const state = data[108];
  if (state !== 1 && state !== 2) return null;
  return {
    mint: keyOf(data.subarray(0, 32)),
    owner: keyOf(data.subarray(32, 64)),
    amount: Buffer.from(data.buffer, data.byteOffset).readBigUInt64LE(64),
    frozen: state === 2,
    program: account.owner,
  };
}

export interface Mint {
  readonly supply: bigint;
  readonly decimals: number;
  readonly mintAuthority: Key | null;
  readonly freezeAuthority: Key | null;
}

/** Parses a mint. Returns null if the account is not an initialized mint. */
export function mintOf(account: SvmAccount | null): Mint | null {
  if (!account || !isToken(account) || account.data.length < MINT_BYTES || account.data[45] !== 1) return null;
  if (account.data.length === TOKEN_ACCOUNT_BYTES) return null;
  const data = Buffer.from(account.data.buffer, account.data.byteOffset, account.data.length);
  const option = (at: number) => (data.readUInt32LE(at) === 1 ? keyOf(data.subarray(at + 4, at + 36)) : null);
  return { supply: data.readBigUInt64LE(36), decimals: data.readUInt8(44), mintAuthority: option(0), freezeAuthority: option(46) };
}

function isToken(account: SvmAccount): boolean {
  return account.owner === TOKEN_PROGRAM || account.owner === TOKEN_2022_PROGRAM;
}

function tokenOwnerOf(account: SvmAccount): Key | null {
  return tokenAccountOf(account)?.owner ?? null;
}
