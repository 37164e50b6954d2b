import { createHash } from 'node:crypto';
import type { z } from 'zod';

/** The JSON text of a response body, and its entity tag (ETag). */
export interface EncodedBody {
  readonly text: string;
  readonly etag: string;
}

/** Returns a JSON text with its entity tag, which is a hash of the text. */
export const encodeBody = (text: string): EncodedBody => ({ text, etag: createHash('sha256').update(text).digest('base64url').slice(0, 22) });

/**
 * A response body that several requests share. It is validated and encoded as JSON once, and again only for another schema. Precondition: `value`
 * does not change.
 */
export class CachedBody<T = unknown> {
  readonly value: T;
  #encoded: { shape: z.ZodType; encoded: EncodedBody } | undefined;

  constructor(value: T) {
    this.value = value;
  }

  /**
   * Returns the encoded value. Calls `encode` only when the value was not yet encoded for this schema.
   * @param encode validates the value by the schema and returns its JSON
   */
  encode(shape: z.ZodType, encode: (value: T) => string): EncodedBody {
    if (this.#encoded?.shape !== shape) this.#encoded = { shape, encoded: encodeBody(encode(this.value)) };
    return this.#encoded.encoded;
  }

  toJSON(): T {
    return this.value;
  }
}
