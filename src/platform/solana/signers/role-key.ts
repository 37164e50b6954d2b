import bs58 from 'bs58';
import { z } from 'zod';
import { unavailable } from '#lib/errors.ts';
import { verifyStrict } from '#lib/sign-in/ed25519.ts';
import { createSignerSeries, observeSigner } from '#platform/observability/metrics/signer-metrics.ts';
import { type Address, type Signer, signMessage } from '../primitives.ts';
import { askSigner, SignerFailed } from './ask.ts';
import type { CommandSource, UrlSource } from './config.ts';
import type { Role } from './roles.ts';

/** The key of a role. This process holds the key, or asks a signer that holds it. */
export interface RoleKey {
  readonly publicKey: Address;
  /**
   * Signs the message of a transaction.
   * @returns 64 bytes, verified against `publicKey`
   * @throws 503 when the signer gives no valid signature
   */
  sign(message: Uint8Array): Promise<Uint8Array>;
}

/**
 * The message with which bin/doctor tries a signer. Its first bytes are the prefix of Solana's off-chain messages, which no transaction can begin with;
 * then version 0, format 0 (ASCII) and the length of the text, two bytes, little endian.
 */
const CHECK_TEXT = 'Coinop checks this signer.';
export const CHECK_MESSAGE: Uint8Array = Buffer.concat([
  Buffer.from('\xffsolana offchain', 'latin1'),
  Buffer.from([0, 0, CHECK_TEXT.length, 0]),
  Buffer.from(CHECK_TEXT),
]);

/** Maximum concurrent requests to one signer. */
export const MAX_CONCURRENT = 8;
/** Time limit of one request, ms. */
const TIMEOUT_MS = 5_000;

/** Receives the beginning and the end of an outage. */
interface OutageLog {
  error(fields: object, sentence: string): void;
  info(fields: object, sentence: string): void;
}

const Answer = z.object({ signature: z.string().max(128) });

/** Returns a key that this process holds. */
export function localKey(signer: Signer): RoleKey {
  const sign = signMessage(signer);
  return { publicKey: signer.publicKey, sign: async (message) => sign(message) };
}

/** The key of a role that a signer holds. Each answer is verified, so a wrong signer can delay transactions, and cannot change them. */
export class RemoteKey implements RoleKey {
  readonly publicKey: Address;
  readonly #role: Role;
  readonly #source: CommandSource | UrlSource;
  readonly #log: OutageLog | null;
  readonly #timeoutMs: number;
  /** Number of requests that are in flight, and those that wait for one of them to end. */
  #inFlight = 0;
  #waiting: (() => void)[] = [];
  /** Whether the last request failed. */
  #isDown = false;
  /** Whether the last request reached its time limit. Then only one request at a time is sent, and others fail at once. */
  #isSlow = false;

  constructor(role: Role, address: Address, source: CommandSource | UrlSource, log: OutageLog | null, timeoutMs = TIMEOUT_MS) {
    this.#role = role;
    this.publicKey = address;
    this.#source = source;
    this.#log = log;
    this.#timeoutMs = timeoutMs;
    createSignerSeries(role);
  }

  async sign(message: Uint8Array): Promise<Uint8Array> {
    await this.#enter();
    const started = performance.now();
    try {
      const signature = await this.#ask(message);
      observeSigner(this.#role, 'signed', performance.now() - started);
      if (this.#isDown) this.#log?.info({ role: this.#role }, 'the signer of a role signs again');
      this.#isDown = this.#isSlow = false;
      return signature;
    } catch (error) {
      if (!(error instanceof SignerFailed)) throw error;
      observeSigner(this.#role, 'failed', performance.now() - started);
      // Logged once per outage, because every transaction of the role fails meanwhile.
      if (!this.#isDown) this.#log?.error({ role: this.#role, reason: error.message }, 'the signer of a role does not sign; its transactions wait');
      this.#isDown = true;
      this.#isSlow = error.isTimeout;
      throw unavailable(`the signer of ${this.#role} does not sign: ${error.message}`);
    } finally {
      this.#inFlight--;
      for (const wake of this.#waiting.splice(0)) wake();
    }
  }

  /** Waits until a further request may be sent. @throws 503 when the signer is slow, so that no worker waits for the time limit again */
  async #enter(): Promise<void> {
    for (;;) {
      if (this.#isSlow && this.#inFlight > 0) throw unavailable(`the signer of ${this.#role} does not answer in time`);
      if (this.#inFlight < MAX_CONCURRENT) break;
      await new Promise<void>((wake) => this.#waiting.push(wake));
    }
    this.#inFlight++;
  }

  async #ask(message: Uint8Array): Promise<Uint8Array> {
    const address = this.publicKey.toBase58();
    const request = { version: 1, role: this.#role, address, message: Buffer.from(message).toString('base64') };
    const signature = parseAnswer(await askSigner(this.#source, JSON.stringify(request), this.#timeoutMs));
    if (verifyStrict(this.publicKey.toBytes(), message, signature)) return signature;
    throw new SignerFailed(`the signature is not a signature of ${address} over the message`);
  }
}

/** Returns the signature of an answer. */
function parseAnswer(text: string): Uint8Array {
  const { data } = Answer.safeParse(parseJson(text));
  // 64 bytes in base64 end with an equals sign, which base58 does not contain.
  const bytes = data?.signature.endsWith('=') ? Buffer.from(data.signature, 'base64') : bs58.decodeUnsafe(data?.signature ?? '');
  if (bytes?.length === 64) return bytes;
  throw new SignerFailed('the answer must be { "signature": … }, 64 bytes in base64 or base58');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
