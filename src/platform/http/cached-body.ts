import { createHash } from 'node:crypto';
import type { z } from 'zod';

/** The JSON text of a response body and its entity tag. */
export interface EncodedBody {
  readonly text: string;
  readonly etag: string;
}

/** Returns a text with its entity tag, the hash of its bytes. */
export const encodeBody = (text: string): EncodedBody => ({ text, etag: createHash('sha256').update(text).digest('base64url').slice(0, 22) });

/**
 * A JSON body that several requests share. It is validated and encoded once per schema. Precondition: the value does not change.
 */
export class CachedBody<T = unknown> {
  readonly value: T;
  #encoded: { shape: z.ZodType; encoded: EncodedBody } | undefined;

  constructor(value: T) {
    this.value = value;
  }

  /** Returns the encoded value, from the cache when possible. @param encode validates the value by the schema and returns its JSON */
  encode(shape: z.ZodType, encode: (value: T) => string): EncodedBody {
    if (this.#encoded?.shape !== shape) this.#encoded = { shape, encoded: encodeBody(encode(this.value)) };
    return this.#encoded.encoded;
  }

  toJSON(): T {
    return this.value;
  }
}
