import { z } from 'zod';

/** What a process is told about where media lie. */
export const StorageEnvironment = {
  /** A folder that every process of the deployment sees. */
  MEDIA_FOLDER: z.string().min(1).default('.data/media'),
};

/** Where media lie. @throws when it is told of incompletely */
export function storageConfig(environment: z.infer<z.ZodObject<typeof StorageEnvironment>>, _production: boolean) {
  return { folder: environment.MEDIA_FOLDER };
}
