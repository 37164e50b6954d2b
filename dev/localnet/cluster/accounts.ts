import { type Key, keyOf, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../keys.ts';
import type { Account } from './svm.ts';

/** How many slots back an account's state can be told: finalized reads, nodes that lag, and forks need them. */
export const REMEMBERED_SLOTS = 512;

/** Since a slot, an account is this; null: there is none. */
interface Version {
  readonly slot: number;
  readonly account: Account | null;
}

/**
 * The accounts that transactions have written, as they were at every one of the last slots. What was never written (programs
 * of the genesis, sysvars) is asked of `given`.
 */
export class Accounts {
  readonly #versions = new Map<Key, Version[]>();
  readonly #owned = new Index();
  readonly #tokensOf = new Index();
  readonly #given: (key: Key, slot: number) => Account | null;

  constructor(given: (key: Key, slot: number) => Account | null) {
    this.#given = given;
  }

  /** The state at the end of a slot, of the last 512. */
  at(key: Key, slot: number): Account | null {
    const versions = this.#versions.get(key);
    if (!versions) return this.#given(key, slot);
    for (let i = versions.length - 1; i >= 0; i--) {
      const version = versions[i];
      if (version && version.slot <= slot) return version.account;
    }
    return null;
  }

  /** The state now. */
  newest(key: Key): Account | null {
    const versions = this.#versions.get(key);
    return versions ? (versions.at(-1)?.account ?? null) : this.#given(key, Number.MAX_SAFE_INTEGER);
  }

  /** Remembers what an account is since a slot, and what it was before. */
  write(key: Key, slot: number, account: Account | null, before: Account | null): void {
    let versions = this.#versions.get(key);
    if (!versions) {
      versions = [{ slot: -1, account: before }];
      this.#versions.set(key, versions);
    }
    const last = versions.at(-1);
    if (last?.slot === slot) versions.pop();
    versions.push({ slot, account });
    while (versions[1] && versions[1].slot < slot - REMEMBERED_SLOTS) versions.shift();
    if (!account) return;
    this.#owned.add(account.owner, key);
    const owner = tokenOwnerOf(account);
    if (owner !== null) this.#tokensOf.add(owner, key);
  }

  /** Forgets everything from a slot on. @returns what is another since */
  rollBack(slot: number): Key[] {
    const undone: Key[] = [];
    for (const [key, versions] of this.#versions) {
      if ((versions.at(-1)?.slot ?? -1) < slot) continue;
      while ((versions.at(-1)?.slot ?? -1) >= slot) versions.pop();
      undone.push(key);
    }
    return undone;
  }

  /** Everything that was ever written. */
  keys(): Iterable<Key> {
    return this.#versions.keys();
  }

  /** Accounts that belong to a program, at a slot. */
  *ownedBy(program: Key, slot: number): Generator<[Key, Account]> {
    for (const key of this.#owned.of(program)) {
      const account = this.at(key, slot);
      if (account?.owner === program) yield [key, account];
    }
  }

  /** Token accounts of a wallet, at a slot. */
  *tokensOf(wallet: Key, slot: number): Generator<[Key, Account]> {
    for (const key of this.#tokensOf.of(wallet)) {
      const account = this.at(key, slot);
      if (account && tokenOwnerOf(account) === wallet) yield [key, account];
    }
  }
}

/** Which accounts have ever stood under a name; whoever asks looks whether they still do. */
class Index {
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

/** Bytes of a token account, and where they hold mint, owner, amount and state. */
const TOKEN_ACCOUNT_BYTES = 165;
const MINT_BYTES = 82;

export interface TokenAccount {
  readonly mint: Key;
  readonly owner: Key;
  readonly amount: bigint;
  readonly frozen: boolean;
  readonly program: Key;
}

/** null for what is not an initialized token account. */
export function tokenAccountOf(account: Account | null): TokenAccount | null {
  if (!account || !isToken(account) || account.data.length < TOKEN_ACCOUNT_BYTES) return null;
  const { data } = account;
  // A longer one (Token-2022) says after the account which of the two it is.
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

/** null for what is not an initialized mint. */
export function mintOf(account: Account | null): Mint | null {
  if (!account || !isToken(account) || account.data.length < MINT_BYTES || account.data[45] !== 1) return null;
  if (account.data.length === TOKEN_ACCOUNT_BYTES) return null;
  const data = Buffer.from(account.data.buffer, account.data.byteOffset, account.data.length);
  const option = (at: number) => (data.readUInt32LE(at) === 1 ? keyOf(data.subarray(at + 4, at + 36)) : null);
  return { supply: data.readBigUInt64LE(36), decimals: data.readUInt8(44), mintAuthority: option(0), freezeAuthority: option(46) };
}

function isToken(account: Account): boolean {
  return account.owner === TOKEN_PROGRAM || account.owner === TOKEN_2022_PROGRAM;
}

function tokenOwnerOf(account: Account): Key | null {
  return tokenAccountOf(account)?.owner ?? null;
}
