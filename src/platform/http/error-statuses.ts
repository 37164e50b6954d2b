import { z } from 'zod';

/** Body of every error response. */
export const ErrorBody = z
  .strictObject({ error: z.string().meta({ description: 'One sentence with the field and its requirement.' }) })
  .meta({ id: 'Error', example: { error: 'no such resource' } });

/** Body of every error response of an action, as the specification of Solana Actions defines it. */
export const ActionErrorBody = z
  .strictObject({ message: z.string().meta({ description: 'One sentence, which the client shows to the user.' }) })
  .meta({ id: 'ActionError', example: { message: 'epoch 20777 has no reward for this wallet' } });

/** Component name, meaning and example sentence of an error status in the OpenAPI document. */
interface ErrorKind {
  readonly id: string;
  readonly meaning: string;
  readonly example: string;
}

/** Every error status of the service. All error responses have the same body, `{ error }`. */
export const ERRORS = {
  400: { id: 'BadRequest', meaning: 'Missing or invalid parameters.', example: 'limit must be at most 500' },
  401: { id: 'Unauthorized', meaning: 'Missing or invalid session, password or signature.', example: 'a session is required, sign in first' },
  403: {
    id: 'Forbidden',
    meaning: 'Insufficient permissions, or an origin that is not allowed.',
    example: 'Origin must be the origin of this service or an allowed origin',
  },
  404: { id: 'NotFound', meaning: 'The resource does not exist.', example: 'no such resource' },
  405: { id: 'MethodNotAllowed', meaning: 'The path does not support this method.', example: 'the method must be GET' },
  409: {
    id: 'Conflict',
    meaning: 'The action was done already, or the current state does not allow it.',
    example: 'Idempotency-Key was used before with another body',
  },
  412: { id: 'PreconditionFailed', meaning: 'If-Match has the ETag of an older version.', example: 'If-Match must be the current ETag' },
  413: { id: 'TooLarge', meaning: 'The body is too large.', example: 'the body must be at most 262144 bytes' },
  415: { id: 'UnsupportedMediaType', meaning: 'The content type or encoding is not supported.', example: 'Content-Type must be application/json' },
  416: { id: 'RangeNotSatisfiable', meaning: 'The range is outside the content.', example: 'Range must lie within the content' },
  429: {
    id: 'TooManyRequests',
    meaning: 'Too many requests. Retry-After is the delay before a retry, seconds.',
    example: 'too many requests, try again later',
  },
  500: { id: 'InternalError', meaning: 'Internal server error.', example: 'internal server error' },
  503: {
    id: 'Unavailable',
    meaning: 'A dependency is down. Retry-After is the delay before a retry, seconds.',
    example: 'a dependency of the service is not available, try again',
  },
} as const satisfies Record<number, ErrorKind>;

export type ErrorStatus = keyof typeof ERRORS;
