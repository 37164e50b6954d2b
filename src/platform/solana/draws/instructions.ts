import { fromHex, Hash, uuidBytes } from '#lib/draw/bytes.ts';
import { type Address, accountEntry, type Instruction, instruction } from '../primitives.ts';
import { SYSTEM_PROGRAM } from '../system-program.ts';
import { commitmentAddress, drawsAddress } from './addresses.ts';

/** The first data byte of each instruction. */
const INIT_DRAWS = 0;
const ROTATE = 1;
const COMMIT = 2;

const DEVELOPMENT = 1;

/** Returns the 32 bytes of a hash. @throws when the text is not 64 lower-case hexadecimal digits */
const hashBytes = (hex: string): Uint8Array => fromHex(Hash.parse(hex));

/**
 * Builds the instruction that creates the draws account of a founder. It can be created only once. Founder and payer must sign.
 */
export function initDraws(init: {
  program: Address;
  /** The account that pays the rent. It may be the founder. */
  payer: Address;
  /** A key that is needed only here and to replace the committer, so it can be stored offline. */
  founder: Address;
  committer: Address;
  /** Chain hash of the beacon, hex. */
  chainHash: string;
  /** The ed25519 public key that signs receipts. */
  receiptKey: Address;
  /** Seconds between two beacon rounds. */
  period: number;
  /** Time of beacon round 1, Unix time in seconds. */
  genesis: number;
  /** Minimum time from a commitment to its beacon round, seconds. The maximum is `margin` + `window`. */
  margin: number;
  window: number;
  /** Whether to allow any margin, window, period and genesis. Verifiers never accept the rounds of such an account as fully true. */
  isDevelopment?: boolean;
}): Instruction {
  const { program, founder } = init;
  const numbers = Buffer.alloc(24);
  numbers.writeUInt8(INIT_DRAWS, 0);
  numbers.writeUInt8(init.isDevelopment ? DEVELOPMENT : 0, 1);
  numbers.writeUInt32LE(init.period, 4);
  numbers.writeBigInt64LE(BigInt(init.genesis), 8);
  numbers.writeUInt32LE(init.margin, 16);
  numbers.writeUInt32LE(init.window, 20);
  return instruction(
    program,
    [
      accountEntry(init.payer, true, true),
      accountEntry(founder, false, true),
      accountEntry(drawsAddress(program, founder), true),
      accountEntry(SYSTEM_PROGRAM, false),
    ],
    Buffer.concat([numbers, init.committer.toBuffer(), hashBytes(init.chainHash), init.receiptKey.toBuffer()]),
  );
}

/** Builds the instruction that replaces the committer of a founder's draws account. The founder must sign. */
export function rotateCommitter({ program, founder, committer }: { program: Address; founder: Address; committer: Address }): Instruction {
  return instruction(
    program,
    [accountEntry(founder, false, true), accountEntry(drawsAddress(program, founder), true)],
    Buffer.concat([Buffer.from([ROTATE, 0, 0, 0, 0, 0, 0, 0]), committer.toBuffer()]),
  );
}

/**
 * Builds the instruction that commits a round, once. Payer and committer must sign. A transaction holds several of these instructions; if the program
 * refuses one, none of them takes effect.
 */
export function commitRound(commit: {
  program: Address;
  /** The account that pays the rent of the commitment, which is never refunded. It may be the committer. */
  payer: Address;
  committer: Address;
  draws: Address;
  /** UUID of the round. */
  roundId: string;
  /** Leaf of the round, hex. */
  leaf: string;
  /** The beacon round that decides the draw, 1 to 2^32. */
  beaconRound: number;
}): Instruction {
  const { program, draws, roundId } = commit;
  const round = Buffer.alloc(8);
  round.writeBigUInt64LE(BigInt(commit.beaconRound));
  return instruction(
    program,
    [
      accountEntry(commit.payer, true, true),
      accountEntry(commit.committer, false, true),
      accountEntry(draws, false),
      accountEntry(commitmentAddress(program, draws, roundId), true),
      accountEntry(SYSTEM_PROGRAM, false),
    ],
    Buffer.concat([Buffer.from([COMMIT, 0, 0, 0, 0, 0, 0, 0]), uuidBytes(roundId), hashBytes(commit.leaf), round]),
  );
}
