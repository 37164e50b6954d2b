import { isAbsolute } from 'node:path';
import { z } from 'zod';

/** What a process is told about where media lie. */
export const StorageEnvironment = {
  /** A folder that every process of the deployment sees. Where media lie in S3, each process receives uploads in one of its own. */
  MEDIA_FOLDER: z.string().min(1).default('.data/media'),
  /** A service that speaks S3, such as `https://s3.eu-central-1.amazonaws.com`; buckets are in its paths. */
  MEDIA_S3_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  MEDIA_S3_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
    .optional(),
  MEDIA_S3_REGION: z.string().min(1).default('us-east-1'),
  MEDIA_S3_ACCESS_KEY: z.string().min(1).optional(),
  MEDIA_S3_SECRET_KEY: z.string().min(1).optional(),
};

/** A bucket, and who we are to it. */
export interface S3Config {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

/** Where media lie. `s3`: null for in the folder itself. */
export interface StorageConfig {
  readonly folder: string;
  readonly s3: S3Config | null;
}

/** Where media lie. @throws when it is told of incompletely */
export function storageConfig(environment: z.infer<z.ZodObject<typeof StorageEnvironment>>, production: boolean): StorageConfig {
  const { MEDIA_FOLDER: folder, MEDIA_S3_ENDPOINT: endpoint, MEDIA_S3_BUCKET: bucket, MEDIA_S3_REGION: region } = environment;
  const { MEDIA_S3_ACCESS_KEY: accessKey, MEDIA_S3_SECRET_KEY: secretKey } = environment;
  if (production && !isAbsolute(folder)) throw new Error('configuration: MEDIA_FOLDER must be an absolute path in production');
  if (endpoint && bucket && accessKey && secretKey) return { folder, s3: { endpoint, bucket, region, accessKey, secretKey } };
  if (endpoint || bucket || accessKey || secretKey) {
    throw new Error('configuration: MEDIA_S3_ENDPOINT, MEDIA_S3_BUCKET, MEDIA_S3_ACCESS_KEY and MEDIA_S3_SECRET_KEY go together');
  }
  return { folder, s3: null };
}
