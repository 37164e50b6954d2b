import type { z } from 'zod';
import type { App } from '#context';
import type { Job } from '#jobs/job.ts';

/** Does a job. Harmless when run twice: it reads the record and acts on what it finds. */
export type Handler<J extends Job> = (app: App, payload: z.output<J['payload']>) => Promise<void>;
