import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A published version. Never changed, only hidden: runs in flight still load it. */
@Entity({ schema: 'baton', name: 'workflow_definitions' })
export class WorkflowDefinition {
  @PrimaryColumn({ type: 'text' })
  namespace!: string;

  @PrimaryColumn({ type: 'text' })
  id!: string;

  @PrimaryColumn({ type: 'integer' })
  version!: number;

  /** JSON text, byte for byte as it was published (YAML: as it was converted). */
  @Column({ type: 'text' })
  spec!: string;

  /** sha256 over canonical JSON. */
  @Column({ name: 'content_hash', type: 'text' })
  contentHash!: string;

  /** Set by the database. */
  @Column({ name: 'created_at', type: 'timestamptz', insert: false, update: false })
  createdAt!: Date;

  @Column({ name: 'deleted_at', type: 'timestamptz', nullable: true, insert: false })
  deletedAt!: Date | null;
}

/** The version that runs take when they name none. */
@Entity({ schema: 'baton', name: 'deployed_definitions' })
export class DeployedDefinition {
  @PrimaryColumn({ type: 'text' })
  namespace!: string;

  @PrimaryColumn({ type: 'text' })
  id!: string;

  @Column({ type: 'integer' })
  version!: number;

  @Column({ name: 'deployed_at', type: 'timestamptz', insert: false })
  deployedAt!: Date;
}
