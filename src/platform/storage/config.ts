import { isAbsolute } from 'node:path';
import { z } from 'zod';
import type { ReportProblem } from '#lib/settings/problems.ts';

/** The environment variables of media storage. */
export const StorageEnvironment = {
  /** Folder of media files, which all processes must share. With S3, it holds only uploads in progress, and each process may have its own folder. */
  MEDIA_FOLDER: z.string().min(1).default('.data/media'),
  /** URL of an S3-compatible service, such as `https://s3.eu-central-1.amazonaws.com`. The service adds the bucket to the path of this URL. */
  MEDIA_S3_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  MEDIA_S3_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be a valid S3 bucket name')
    .optional(),
  MEDIA_S3_REGION: z.string().min(1).default('us-east-1'),
  MEDIA_S3_ACCESS_KEY: z.string().min(1).optional(),
  MEDIA_S3_SECRET_KEY: z.string().min(1).optional(),
};

/** An S3 bucket and its credentials. */
export interface S3Config {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

/** The settings of media storage. `s3` is null when media are stored in the folder. */
export interface StorageConfig {
  readonly folder: string;
  readonly s3: S3Config | null;
}

/**
 * Builds the settings of media storage.
 * @param report gets a sentence when only some of the S3 settings are set, or when the folder is a relative path in production
 */
export function storageConfig(
  environment: z.infer<z.ZodObject<typeof StorageEnvironment>>,
  production: boolean,
  report: ReportProblem,
): StorageConfig {
  const { MEDIA_FOLDER: folder, MEDIA_S3_ENDPOINT: endpoint, MEDIA_S3_BUCKET: bucket, MEDIA_S3_REGION: region } = environment;
  const { MEDIA_S3_ACCESS_KEY: accessKey, MEDIA_S3_SECRET_KEY: secretKey } = environment;
  if (production && !isAbsolute(folder)) report('MEDIA_FOLDER must be an absolute path in production');
  if (endpoint && bucket && accessKey && secretKey) return { folder, s3: { endpoint, bucket, region, accessKey, secretKey } };
  if (endpoint || bucket || accessKey || secretKey) {
    report('MEDIA_S3_ENDPOINT, MEDIA_S3_BUCKET, MEDIA_S3_ACCESS_KEY and MEDIA_S3_SECRET_KEY must be set together');
  }
  return { folder, s3: null };
}
