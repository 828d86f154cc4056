"""The API server's own types, which it prints when it says what is wrong with a value that is no scalar.

A row names a type and its fields in Go's order; an indented line goes on with the row before. A field reads
`GoName:code`, or `GoName=jsonName:code` where the two differ by more than case. Codes tell what stands for nothing:
`s` the empty text, `i` 0, `b` false, `q` the quantity 0, `n` null; `l` is a label selector or null; before the name
of another type `.` is a value, `*` a pointer, `[` a list, `{` a map; `+` takes in the fields of the other type, and
`+meta` those of object metadata.
"""

from typing import Final

TYPES: Final = """
PodTemplateSpec +meta Spec:.PodSpec
PodSpec Volumes:[Volume InitContainers:[Container Containers:[Container EphemeralContainers:[EphemeralContainer
  RestartPolicy:s TerminationGracePeriodSeconds:n ActiveDeadlineSeconds:n DNSPolicy:s NodeSelector:n
  ServiceAccountName:s AutomountServiceAccountToken:n NodeName:s SecurityContext:*PodSecurityContext
  ImagePullSecrets:[LocalObjectReference Hostname:s Subdomain:s SetHostnameAsFQDN:n Affinity:*Affinity SchedulerName:s
  Tolerations:[Toleration HostAliases:[HostAlias PriorityClassName:s Priority:n PreemptionPolicy:n
  DNSConfig:*PodDNSConfig ReadinessGates:[PodReadinessGate RuntimeClassName:n Overhead:n EnableServiceLinks:n
  TopologySpreadConstraints:[TopologySpreadConstraint OS:*PodOS SchedulingGates:[PodSchedulingGate
  ResourceClaims:[PodResourceClaim Resources:*ResourceRequirements HostnameOverride:n
  SchedulingGroup:*PodSchedulingGroup
Volume Name:s +VolumeSource
VolumeSource HostPath:*HostPathVolumeSource EmptyDir:*EmptyDirVolumeSource
  GCEPersistentDisk:*GCEPersistentDiskVolumeSource AWSElasticBlockStore:*AWSElasticBlockStoreVolumeSource
  GitRepo:*GitRepoVolumeSource Secret:*SecretVolumeSource NFS:*NFSVolumeSource ISCSI:*ISCSIVolumeSource
  Glusterfs:*GlusterfsVolumeSource PersistentVolumeClaim:*PersistentVolumeClaimVolumeSource RBD:*RBDVolumeSource
  Quobyte:*QuobyteVolumeSource FlexVolume:*FlexVolumeSource Cinder:*CinderVolumeSource CephFS:*CephFSVolumeSource
  Flocker:*FlockerVolumeSource DownwardAPI:*DownwardAPIVolumeSource FC:*FCVolumeSource
  AzureFile:*AzureFileVolumeSource ConfigMap:*ConfigMapVolumeSource VsphereVolume:*VsphereVirtualDiskVolumeSource
  AzureDisk:*AzureDiskVolumeSource PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource
  Projected:*ProjectedVolumeSource PortworxVolume:*PortworxVolumeSource ScaleIO:*ScaleIOVolumeSource
  StorageOS:*StorageOSVolumeSource CSI:*CSIVolumeSource Ephemeral:*EphemeralVolumeSource Image:*ImageVolumeSource
HostPathVolumeSource Path:s Type:n
EmptyDirVolumeSource Medium:s SizeLimit:n
GCEPersistentDiskVolumeSource PDName:s FSType:s Partition:i ReadOnly:b
AWSElasticBlockStoreVolumeSource VolumeID:s FSType:s Partition:i ReadOnly:b
GitRepoVolumeSource Repository:s Revision:s Directory:s
SecretVolumeSource SecretName:s Items:[KeyToPath DefaultMode:n Optional:n
KeyToPath Key:s Path:s Mode:n
NFSVolumeSource Server:s Path:s ReadOnly:b
ISCSIVolumeSource TargetPortal:s IQN:s Lun:i ISCSIInterface:s FSType:s ReadOnly:b Portals:n DiscoveryCHAPAuth:b
  SessionCHAPAuth:b SecretRef:*LocalObjectReference InitiatorName:n
LocalObjectReference Name:s
GlusterfsVolumeSource EndpointsName=endpoints:s Path:s ReadOnly:b
PersistentVolumeClaimVolumeSource ClaimName:s ReadOnly:b
RBDVolumeSource CephMonitors=monitors:n RBDImage=image:s FSType:s RBDPool=pool:s RadosUser=user:s Keyring:s
  SecretRef:*LocalObjectReference ReadOnly:b
QuobyteVolumeSource Registry:s Volume:s ReadOnly:b User:s Group:s Tenant:s
FlexVolumeSource Driver:s FSType:s SecretRef:*LocalObjectReference ReadOnly:b Options:n
CinderVolumeSource VolumeID:s FSType:s ReadOnly:b SecretRef:*LocalObjectReference
CephFSVolumeSource Monitors:n Path:s User:s SecretFile:s SecretRef:*LocalObjectReference ReadOnly:b
FlockerVolumeSource DatasetName:s DatasetUUID:s
DownwardAPIVolumeSource Items:[DownwardAPIVolumeFile DefaultMode:n
DownwardAPIVolumeFile Path:s FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector Mode:n
ObjectFieldSelector APIVersion:s FieldPath:s
ResourceFieldSelector ContainerName:s Resource:s Divisor:q
FCVolumeSource TargetWWNs:n Lun:n FSType:s ReadOnly:b WWIDs:n
AzureFileVolumeSource SecretName:s ShareName:s ReadOnly:b
ConfigMapVolumeSource +LocalObjectReference Items:[KeyToPath DefaultMode:n Optional:n
VsphereVirtualDiskVolumeSource VolumePath:s FSType:s StoragePolicyName:s StoragePolicyID:s
AzureDiskVolumeSource DiskName:s DataDiskURI=diskURI:s CachingMode:n FSType:n ReadOnly:n Kind:n
PhotonPersistentDiskVolumeSource PdID:s FSType:s
ProjectedVolumeSource Sources:[VolumeProjection DefaultMode:n
VolumeProjection Secret:*SecretProjection DownwardAPI:*DownwardAPIProjection ConfigMap:*ConfigMapProjection
  ServiceAccountToken:*ServiceAccountTokenProjection ClusterTrustBundle:*ClusterTrustBundleProjection
  PodCertificate:*PodCertificateProjection
SecretProjection +LocalObjectReference Items:[KeyToPath Optional:n
DownwardAPIProjection Items:[DownwardAPIVolumeFile
ConfigMapProjection +LocalObjectReference Items:[KeyToPath Optional:n
ServiceAccountTokenProjection Audience:s ExpirationSeconds:i Path:s
ClusterTrustBundleProjection Name:n SignerName:n LabelSelector:l Optional:n Path:s
PodCertificateProjection SignerName:s KeyType:s MaxExpirationSeconds:n CredentialBundlePath:s KeyPath:s
  CertificateChainPath:s UserAnnotations:n
PortworxVolumeSource VolumeID:s FSType:s ReadOnly:b
ScaleIOVolumeSource Gateway:s System:s SecretRef:*LocalObjectReference SSLEnabled:b ProtectionDomain:s StoragePool:s
  StorageMode:s VolumeName:s FSType:s ReadOnly:b
StorageOSVolumeSource VolumeName:s VolumeNamespace:s FSType:s ReadOnly:b SecretRef:*LocalObjectReference
CSIVolumeSource Driver:s ReadOnly:n FSType:n VolumeAttributes:n NodePublishSecretRef:*LocalObjectReference
EphemeralVolumeSource VolumeClaimTemplate:*PersistentVolumeClaimTemplate
PersistentVolumeClaimTemplate +meta Spec:.PersistentVolumeClaimSpec
PersistentVolumeClaimSpec AccessModes:n Selector:l Resources:.VolumeResourceRequirements VolumeName:s
  StorageClassName:n VolumeMode:n DataSource:*TypedLocalObjectReference DataSourceRef:*TypedObjectReference
  VolumeAttributesClassName:n
VolumeResourceRequirements Limits:n Requests:n
TypedLocalObjectReference APIGroup:n Kind:s Name:s
TypedObjectReference APIGroup:n Kind:s Name:s Namespace:n
ImageVolumeSource Reference:s PullPolicy:s
Container Name:s Image:s Command:n Args:n WorkingDir:s Ports:[ContainerPort EnvFrom:[EnvFromSource Env:[EnvVar
  Resources:.ResourceRequirements ResizePolicy:[ContainerResizePolicy RestartPolicy:n
  RestartPolicyRules:[ContainerRestartRule VolumeMounts:[VolumeMount VolumeDevices:[VolumeDevice LivenessProbe:*Probe
  ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle TerminationMessagePath:s TerminationMessagePolicy:s
  ImagePullPolicy:s SecurityContext:*SecurityContext Stdin:b StdinOnce:b TTY:b
ContainerPort Name:s HostPort:i ContainerPort:i Protocol:s HostIP:s
EnvFromSource Prefix:s ConfigMapRef:*ConfigMapEnvSource SecretRef:*SecretEnvSource
ConfigMapEnvSource +LocalObjectReference Optional:n
SecretEnvSource +LocalObjectReference Optional:n
EnvVar Name:s Value:s ValueFrom:*EnvVarSource
EnvVarSource FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector
  ConfigMapKeyRef:*ConfigMapKeySelector SecretKeyRef:*SecretKeySelector FileKeyRef:*FileKeySelector
ConfigMapKeySelector +LocalObjectReference Key:s Optional:n
SecretKeySelector +LocalObjectReference Key:s Optional:n
FileKeySelector VolumeName:s Path:s Key:s Optional:n
ResourceRequirements Limits:n Requests:n Claims:[ResourceClaim
ResourceClaim Name:s Request:s
ContainerResizePolicy ResourceName:s RestartPolicy:s
ContainerRestartRule Action:s ExitCodes:*ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes Operator:s Values:n
VolumeMount Name:s ReadOnly:b RecursiveReadOnly:n MountPath:s SubPath:s MountPropagation:n SubPathExpr:s
VolumeDevice Name:s DevicePath:s
Probe +ProbeHandler InitialDelaySeconds:i TimeoutSeconds:i PeriodSeconds:i SuccessThreshold:i FailureThreshold:i
  TerminationGracePeriodSeconds:n
ProbeHandler Exec:*ExecAction HTTPGet:*HTTPGetAction TCPSocket:*TCPSocketAction GRPC:*GRPCAction
ExecAction Command:n
HTTPGetAction Path:s Port:i Host:s Scheme:s HTTPHeaders:[HTTPHeader
HTTPHeader Name:s Value:s
TCPSocketAction Port:i Host:s
GRPCAction Port:i Service:n
Lifecycle PostStart:*LifecycleHandler PreStop:*LifecycleHandler StopSignal:n
LifecycleHandler Exec:*ExecAction HTTPGet:*HTTPGetAction TCPSocket:*TCPSocketAction Sleep:*SleepAction
SleepAction Seconds:i
SecurityContext Capabilities:*Capabilities Privileged:n SELinuxOptions:*SELinuxOptions
  WindowsOptions:*WindowsSecurityContextOptions RunAsUser:n RunAsGroup:n RunAsNonRoot:n ReadOnlyRootFilesystem:n
  AllowPrivilegeEscalation:n ProcMount:n SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile
Capabilities Add:n Drop:n
SELinuxOptions User:s Role:s Type:s Level:s
WindowsSecurityContextOptions GMSACredentialSpecName:n GMSACredentialSpec:n RunAsUserName:n HostProcess:n
SeccompProfile Type:s LocalhostProfile:n
AppArmorProfile Type:s LocalhostProfile:n
EphemeralContainer +EphemeralContainerCommon TargetContainerName:s
EphemeralContainerCommon Name:s Image:s Command:n Args:n WorkingDir:s Ports:[ContainerPort EnvFrom:[EnvFromSource
  Env:[EnvVar Resources:.ResourceRequirements ResizePolicy:[ContainerResizePolicy RestartPolicy:n
  RestartPolicyRules:[ContainerRestartRule VolumeMounts:[VolumeMount VolumeDevices:[VolumeDevice LivenessProbe:*Probe
  ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle TerminationMessagePath:s TerminationMessagePolicy:s
  ImagePullPolicy:s SecurityContext:*SecurityContext Stdin:b StdinOnce:b TTY:b
PodSecurityContext HostNetwork:b HostPID:b HostIPC:b ShareProcessNamespace:n HostUsers:n
  SELinuxOptions:*SELinuxOptions WindowsOptions:*WindowsSecurityContextOptions RunAsUser:n RunAsGroup:n RunAsNonRoot:n
  SupplementalGroups:n SupplementalGroupsPolicy:n FSGroup:n FSGroupChangePolicy:n Sysctls:[Sysctl
  SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile SELinuxChangePolicy:n
Sysctl Name:s Value:s
Affinity NodeAffinity:*NodeAffinity PodAffinity:*PodAffinity PodAntiAffinity:*PodAntiAffinity
NodeAffinity RequiredDuringSchedulingIgnoredDuringExecution:*NodeSelector
  PreferredDuringSchedulingIgnoredDuringExecution:[PreferredSchedulingTerm
NodeSelector NodeSelectorTerms:[NodeSelectorTerm
NodeSelectorTerm MatchExpressions:[NodeSelectorRequirement MatchFields:[NodeSelectorRequirement
NodeSelectorRequirement Key:s Operator:s Values:n
PreferredSchedulingTerm Weight:i Preference:.NodeSelectorTerm
PodAffinity RequiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm
  PreferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm
PodAffinityTerm LabelSelector:l Namespaces:n TopologyKey:s NamespaceSelector:l MatchLabelKeys:n MismatchLabelKeys:n
WeightedPodAffinityTerm Weight:i PodAffinityTerm:.PodAffinityTerm
PodAntiAffinity RequiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm
  PreferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm
Toleration Key:s Operator:s Value:s Effect:s TolerationSeconds:n
HostAlias IP:s Hostnames:n
PodDNSConfig Nameservers:n Searches:n Options:[PodDNSConfigOption
PodDNSConfigOption Name:s Value:n
PodReadinessGate ConditionType:s
TopologySpreadConstraint MaxSkew:i TopologyKey:s WhenUnsatisfiable:s LabelSelector:l MinDomains:n NodeAffinityPolicy:n
  NodeTaintsPolicy:n MatchLabelKeys:n
PodOS Name:s
PodSchedulingGate Name:s
PodResourceClaim Name:s ResourceClaimName:n ResourceClaimTemplateName:n
PodSchedulingGroup PodGroupName:n
batch.PodFailurePolicy Rules:[batch.PodFailurePolicyRule
batch.PodFailurePolicyRule Action:s OnExitCodes:*batch.PodFailurePolicyOnExitCodesRequirement
  OnPodConditions:[batch.PodFailurePolicyOnPodConditionsPattern
batch.PodFailurePolicyOnExitCodesRequirement ContainerName:n Operator:s Values:n
batch.PodFailurePolicyOnPodConditionsPattern Type:s Status:s
batch.SuccessPolicy Rules:[batch.SuccessPolicyRule
batch.SuccessPolicyRule SucceededIndexes:n SucceededCount:n
batch.UncountedTerminatedPods Succeeded:n Failed:n
apps.DeploymentStrategy Type:s RollingUpdate:*apps.RollingUpdateDeployment
apps.RollingUpdateDeployment MaxUnavailable:i MaxSurge:i
apps.StatefulSetUpdateStrategy Type:s RollingUpdate:*apps.RollingUpdateStatefulSetStrategy
apps.RollingUpdateStatefulSetStrategy Partition:i MaxUnavailable:n
apps.DaemonSetUpdateStrategy Type:s RollingUpdate:*apps.RollingUpdateDaemonSet
apps.RollingUpdateDaemonSet MaxUnavailable:i MaxSurge:i
policy.PodDisruptionBudgetSpec MinAvailable:n Selector:l MaxUnavailable:n UnhealthyPodEvictionPolicy:n
rbac.RoleRef APIGroup:s Kind:s Name:s
resource.ResourceClaimSpec Devices:.resource.DeviceClaim
resource.DeviceClaim Requests:[resource.DeviceRequest Constraints:[resource.DeviceConstraint
  Config:[resource.DeviceClaimConfiguration
resource.DeviceRequest Name:s Exactly:*resource.ExactDeviceRequest FirstAvailable:[resource.DeviceSubRequest
resource.ExactDeviceRequest DeviceClassName:s Selectors:[resource.DeviceSelector AllocationMode:s Count:i
  AdminAccess:n Tolerations:[resource.DeviceToleration Capacity:*resource.CapacityRequirements
resource.DeviceSelector CEL:*resource.CELDeviceSelector
resource.CELDeviceSelector Expression:s
resource.DeviceToleration Key:s Operator:s Value:s Effect:s TolerationSeconds:n
resource.CapacityRequirements Requests:n
resource.DeviceSubRequest Name:s DeviceClassName:s Selectors:[resource.DeviceSelector AllocationMode:s Count:i
  Tolerations:[resource.DeviceToleration Capacity:*resource.CapacityRequirements
resource.DeviceConstraint Requests:n MatchAttribute:n DistinctAttribute:n
resource.DeviceClaimConfiguration Requests:n +resource.DeviceConfiguration
resource.DeviceConfiguration Opaque:*resource.OpaqueDeviceConfiguration
resource.OpaqueDeviceConfiguration Driver:s Parameters:n
resource.ResourceClaimTemplateSpec +meta Spec:.resource.ResourceClaimSpec
resource.AllocationResult Devices:.resource.DeviceAllocationResult NodeSelector:*NodeSelector AllocationTimestamp:n
resource.DeviceAllocationResult Results:[resource.DeviceRequestAllocationResult
  Config:[resource.DeviceAllocationConfiguration
resource.DeviceRequestAllocationResult Request:s Driver:s Pool:s Device:s AdminAccess:n
  Tolerations:[resource.DeviceToleration BindingConditions:n BindingFailureConditions:n ShareID:n ConsumedCapacity:n
resource.DeviceAllocationConfiguration Source:s Requests:n +resource.DeviceConfiguration
resource.DeviceAttribute IntValue=int:n BoolValue=bool:n StringValue=string:n VersionValue=version:n IntValues=ints:n
  BoolValues=bools:n StringValues=strings:n VersionValues=versions:n
storage.VolumeAttachmentSpec Attacher:s Source:.storage.VolumeAttachmentSource NodeName:s
storage.VolumeAttachmentSource PersistentVolumeName:n InlineVolumeSpec:n
ObjectReference Kind:s Namespace:s Name:s UID:s APIVersion:s ResourceVersion:s FieldPath:s
storage.CSINodeDriver Name:s NodeID:s TopologyKeys:n Allocatable:*storage.VolumeNodeResources
storage.VolumeNodeResources Count:n
EventSource Component:s Host:s
"""
