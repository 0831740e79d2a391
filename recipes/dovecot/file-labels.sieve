# Runs when a message is delivered: what has a folder of its own goes there, all else that nobody wants to Junk.
require ["fileinto", "mailbox"];

if header :matches "X-Priory-Verdict" "newsletter;*" {
  fileinto :create "Newsletter";
} elsif header :matches "X-Priory-Verdict" "phishing;*" {
  fileinto :create "Phishing";
} elsif header :is "X-Spam-Flag" "YES" {
  fileinto :create "Junk";
}
