import type { z } from 'zod';
import type { App } from '#platform/app.ts';
import type { Job } from '#platform/jobs/job.ts';

/** Processes one job. A handler is harmless when run twice: it reads the rows and acts on the state that it finds. */
export type Handler<J extends Job> = (app: App, payload: z.output<J['payload']>) => Promise<void>;
