# Runs when a message is moved or copied into the folder of a label: learns it with the folder's name as its label.
require ["environment", "imapsieve", "variables", "vnd.dovecot.pipe", "copy"];

if environment :matches "imap.user" "*" {
  set "user" "${1}";
}
if environment :matches "imap.mailbox" "*" {
  set :lower "label" "${1}";
}
pipe :copy "priory-learn-label" ["${label}", "${user}"];
