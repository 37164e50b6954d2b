import { z } from 'zod';
import type { Queryable } from '#platform/db/sql.ts';
import type { DescribedJob, JobDescription } from '#platform/jobs/description.ts';
import { isUnavailable } from './errors.ts';
import { operationId } from './openapi/document.ts';
import { tagOf } from './openapi/tags.ts';
import type { AnyRoute } from './route.ts';

/** The fields of a job in a response of Bull Board that this file reads. */
const BoardJob = z.looseObject({ name: z.string(), data: z.unknown(), returnValue: z.unknown() });
type BoardJob = z.infer<typeof BoardJob>;
const OneJob = z.looseObject({ job: BoardJob });
const ManyJobs = z.looseObject({ queues: z.array(z.looseObject({ jobs: z.array(BoardJob) })) });

/** Separates the name of a job from its description. Names of jobs contain no colon. */
const SEPARATOR = ': ';

/** Fields of a job that show its payload, or errors and results that can contain parts of it. */
const PAYLOAD_FIELDS = new Set([
  'data',
  'returnValue',
  'returnvalue',
  'opts',
  'stacktrace',
  'failedReason',
  'deferredFailure',
  'progress',
  'deduplicationId',
  'externalUrl',
]);

/**
 * Adds descriptions to the jobs in a response of Bull Board: the subject to the name, the row of the subject with its attempts to the result, and a
 * link to the documentation of the route that acts on the subject. Reads the rows of all jobs of the same kind with one query. While PostgreSQL is down,
 * the jobs have no descriptions, because operators need the board then.
 */
export async function describeJobs(
  db: Queryable,
  descriptions: readonly DescribedJob[],
  routes: readonly AnyRoute[],
  body: unknown,
): Promise<unknown> {
  const one = OneJob.safeParse(body).data;
  if (one) return { ...one, job: (await describe(db, descriptions, routes, [one.job]))[0] };
  const many = ManyJobs.safeParse(body).data;
  if (!many) return body;
  return {
    ...many,
    queues: await Promise.all(many.queues.map(async (queue) => ({ ...queue, jobs: await describe(db, descriptions, routes, queue.jobs) }))),
  };
}

async function describe(
  db: Queryable,
  all: readonly DescribedJob[],
  routes: readonly AnyRoute[],
  boardJobs: readonly BoardJob[],
): Promise<BoardJob[]> {
  const described = new Map<BoardJob, JobDescription>();
  for (const { name, describe } of all) {
    const ofKind = boardJobs.filter((job) => job.name === name);
    if (ofKind.length === 0) continue;
    const found = await describe(
      db,
      ofKind.map(({ data }) => data),
    ).catch((error: unknown) => {
      if (!isUnavailable(error)) throw error;
      return [];
    });
    for (const [i, job] of ofKind.entries()) if (found[i]) described.set(job, found[i]);
  }
  return boardJobs.map((job) => {
    const description = described.get(job);
    if (!description) return job;
    const { about, record, route } = description;
    return {
      ...job,
      name: `${job.name}${SEPARATOR}${about}`,
      ...(record ? { returnValue: { ...(job.returnValue == null ? {} : { result: job.returnValue }), record } } : {}),
      ...(route === undefined ? {} : { externalUrl: linkTo(routes, route) }),
    };
  });
}

/** Returns the link to a route in the documentation; undefined when the route does not exist. */
function linkTo(routes: readonly AnyRoute[], name: string): { displayText: string; href: string } | undefined {
  const route = routes.find(({ method, path }) => `${method} ${path}` === name);
  return route && { displayText: name, href: `/docs#/${encodeURIComponent(tagOf(route.path))}/${operationId(route)}` };
}

/** Removes the payloads of jobs from a response of Bull Board. Keeps names, states, times and numbers of attempts. */
export function withoutPayloads(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPayloads);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const isJob = 'timestamp' in value && 'name' in value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, of]) => {
      if (!PAYLOAD_FIELDS.has(key)) return [[key, withoutPayloads(of)]];
      // The page expects these fields in each job.
      if (isJob && key === 'opts') return [[key, {}]];
      return isJob && key === 'stacktrace' ? [[key, []]] : [];
    }),
  );
}

/** Removes the description from the name in a request to add a job, because the page fills in the name of the job that is copied. */
export function withoutDescription(body: unknown): unknown {
  const copied = z.looseObject({ name: z.string() }).safeParse(body).data;
  return copied ? { ...copied, name: copied.name.split(SEPARATOR)[0] } : body;
}
