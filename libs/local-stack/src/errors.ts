/** Why a local server could not be had. The message is one sentence that a person can act on. */
export type LocalStackErrorCode =
  | 'ALREADY_RUNNING'
  | 'BINARIES_MISSING'
  | 'DATA_FOLDER_FOREIGN'
  | 'DOWNLOAD_FAILED'
  | 'JAVA_MISSING'
  | 'JAVA_TOO_OLD'
  | 'MAVEN_MISSING'
  | 'PLATFORM_UNSUPPORTED'
  | 'PORT_TAKEN'
  | 'SERVER_FAILED'
  | 'SERVER_USER';

export class LocalStackError extends Error {
  constructor(
    readonly code: LocalStackErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'LocalStackError';
  }
}
