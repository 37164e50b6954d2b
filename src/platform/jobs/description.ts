import type { z } from 'zod';
import type { Queryable } from '#platform/db/sql.ts';

/** The description of one job for operators. Bull Board shows it. */
export interface JobDescription {
  /** The subject of the job, such as a wallet, a round or an epoch. It follows the name of the job. */
  readonly about: string;
  /** The row of the subject, with the attempts that the database counts. Undefined when the subject has no row. */
  readonly record?: object;
  /** Method and path template of the route with which an operator acts on the subject, such as `post /admin/transactions/{id}/retry`. */
  readonly route?: string;
}

/** Describes jobs of one kind by their payloads. */
export interface DescribedJob {
  readonly name: string;
  /** Returns one description per payload. It is null when the payload does not match the schema of the job. */
  describe(db: Queryable, payloads: readonly unknown[]): Promise<(JobDescription | null)[]>;
}

/**
 * Declares the description of a job.
 * @param read reads the rows of all payloads with one query, and returns the function that describes one payload
 */
export function describedJob<Payload>(
  { name, payload: schema }: { readonly name: string; readonly payload: z.ZodType<Payload> },
  read: (db: Queryable, payloads: readonly Payload[]) => Promise<(payload: Payload) => JobDescription>,
): DescribedJob {
  return {
    name,
    async describe(db, payloads) {
      const parsed = payloads.map((payload) => schema.safeParse(payload));
      const describe = await read(
        db,
        parsed.flatMap((result) => (result.success ? [result.data] : [])),
      );
      return parsed.map((result) => (result.success ? describe(result.data) : null));
    },
  };
}
